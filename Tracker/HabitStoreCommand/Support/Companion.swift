import Foundation
import HabitStore
import HabitStoreOperator

/// A program that belongs to this one and is built by itself, as git has them.
struct Companion {
    /// The program's name.
    let name: String
    /// What `make` builds it by.
    let target: String

    /// The program: beside this one, or the first on the PATH; nil where there is none.
    ///
    /// - Parameters:
    ///   - own: this program's own file.
    ///   - search: folders with colons between them, as PATH has them.
    func path(own: String?, search: String) -> String? {
        let beside = own.map { URL(fileURLWithPath: $0).resolvingSymlinksInPath().deletingLastPathComponent().path }
        // An empty folder of the PATH would be the working one, where anybody may have put anything.
        let folders = (beside.map { [$0] } ?? []) + search.split(separator: ":").map(String.init)
        return folders.map { $0 + "/" + name }.first(where: Self.isProgram)
    }

    private static func isProgram(_ path: String) -> Bool {
        var isDirectory: ObjCBool = false
        return FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) && !isDirectory.boolValue
            && FileManager.default.isExecutableFile(atPath: path)
    }

    /// Runs the program in the place of this one.
    ///
    /// - Throws: a failure in one line where it is not there, or cannot be run.
    func become(_ arguments: [String]) throws -> Never {
        let search = ProcessInfo.processInfo.environment["PATH"] ?? ""
        guard let path = path(own: Bundle.main.executablePath, search: search) else {
            throw CommandFailure(
                status: .inputOutput,
                message:
                    "\(name) is neither beside this program nor on the PATH; build it with `make \(target)`, and install it with "
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
