/// Checks the arguments from the system.
enum ArgumentText {
    /// Checks that all arguments are UTF-8.
    ///
    /// Swift replaces bytes that are not UTF-8 with U+FFFD, so that the ids of two users or the paths of two files could become equal.
    ///
    /// - Throws: a usage error that names the first argument that is not UTF-8.
    static func check(
        _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?> = CommandLine.unsafeArgv,
        count: Int = Int(CommandLine.argc)
    ) throws {
        for place in 1..<max(1, count) {
            guard let argument = arguments[place], String(validatingCString: argument) == nil else { continue }
            throw CommandFailure.usage("argument \(place) is not UTF-8; names, ids and paths have to be")
        }
    }
}
