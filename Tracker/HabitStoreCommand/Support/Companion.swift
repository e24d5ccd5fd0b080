import Foundation
import HabitStore
import HabitStoreOperator

/// A program that belongs to this one but is built separately, like git's subcommands.
struct Companion {
    let name: String
    /// The `make` target that builds it.
    let target: String

    /// The path of the program, next to this one or from the PATH; nil if it is not found.
    ///
    /// - Parameters:
    ///   - own: the path of this program.
    ///   - search: folders separated by colons, like PATH.
    func path(own: String?, search: String) -> String? {
        let beside = own.map { URL(fileURLWithPath: $0).resolvingSymlinksInPath().deletingLastPathComponent().path }
        // An empty PATH entry would mean the working directory, whose contents are not trusted.
        let folders = (beside.map { [$0] } ?? []) + search.split(separator: ":").map(String.init)
        return folders.map { $0 + "/" + name }.first(where: Self.isProgram)
    }

    private static func isProgram(_ path: String) -> Bool {
        var isDirectory: ObjCBool = false
        return FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) && !isDirectory.boolValue
            && FileManager.default.isExecutableFile(atPath: path)
    }

    /// Replaces this process with the program.
    ///
    /// - Throws: a one-line failure if the program is missing or cannot be run.
    func become(_ arguments: [String]) throws -> Never {
        let search = ProcessInfo.processInfo.environment["PATH"] ?? ""
        guard let path = path(own: Bundle.main.executablePath, search: search) else {
            throw CommandFailure(
                status: .inputOutput,
                message:
                    "\(name) is neither next to this program nor on the PATH; build it with `make \(target)`, and install it with "
                    + "`make install`"
            )
        }
        var words = ([path] + arguments).map { strdup($0) }
        defer { for word in words { free(word) } }
        words.append(nil)
        execv(path, words)
        throw CommandFailure(
            status: .inputOutput,
            message: "\(path) cannot be run: \(String(cString: strerror(errno)))"
        )
    }
}
