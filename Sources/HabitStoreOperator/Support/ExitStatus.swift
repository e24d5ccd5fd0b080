/// What the command's exit code says. 64 and above are those of `sysexits.h`.
package struct ExitStatus: RawRepresentable, Equatable {
    package let rawValue: Int32

    package init(rawValue: Int32) { self.rawValue = rawValue }

    /// Done; two stores are identical.
    package static let success = ExitStatus(rawValue: 0)
    /// Two stores differ, a fixture failed, a store or the evidence is damaged, or the gate refused.
    package static let different = ExitStatus(rawValue: 1)
    /// Two stores differ, and rules ignore all of it.
    package static let ignored = ExitStatus(rawValue: 2)
    /// Wrong arguments: options, names, a filter that cannot be read.
    package static let usage = ExitStatus(rawValue: 64)
    /// Data that cannot be read: damaged, not a store, of a newer version.
    package static let data = ExitStatus(rawValue: 65)
    /// A file that cannot be reached: missing, no permission, no space, busy.
    package static let inputOutput = ExitStatus(rawValue: 74)
    /// The time limit came first; another try may get further.
    package static let temporaryFailure = ExitStatus(rawValue: 75)
    /// The reader of the output went away; a shell reports a process that SIGPIPE ended so.
    package static let outputClosed = ExitStatus(rawValue: 141)
}
