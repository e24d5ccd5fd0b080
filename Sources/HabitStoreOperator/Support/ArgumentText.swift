/// The arguments as the system hands them over.
enum ArgumentText {
    /// Makes sure that all arguments are text.
    ///
    /// Swift puts U+FFFD into the place of bytes that are not UTF-8: two users' ids, or two files' paths, would be taken for one.
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
