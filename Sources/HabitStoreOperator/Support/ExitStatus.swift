/// The command's exit code. Values from 64 on are those of `sysexits.h`.
package struct ExitStatus: RawRepresentable, Equatable {
    package let rawValue: Int32

    package init(rawValue: Int32) { self.rawValue = rawValue }

    /// Done; two stores are identical.
    package static let success = ExitStatus(rawValue: 0)
    /// Two stores differ, a fixture failed, a store or the evidence is damaged, or the gate refused.
    package static let different = ExitStatus(rawValue: 1)
    /// Two stores differ, but rules ignore all differences.
    package static let ignored = ExitStatus(rawValue: 2)
    /// Wrong arguments: options, names, or an invalid filter.
    package static let usage = ExitStatus(rawValue: 64)
    /// Data that cannot be read: damaged, not a store, or of a newer version.
    package static let data = ExitStatus(rawValue: 65)
    /// A file that cannot be used: missing, no permission, no space, or busy.
    package static let inputOutput = ExitStatus(rawValue: 74)
    /// The time limit was reached; another try may succeed.
    package static let temporaryFailure = ExitStatus(rawValue: 75)
    /// The reader of the output went away; shells report a process that SIGPIPE ended with this code.
    package static let outputClosed = ExitStatus(rawValue: 141)
}
