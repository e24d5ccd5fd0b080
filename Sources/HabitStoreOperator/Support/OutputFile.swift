import DurableFiles
import Foundation

/// A file that a command replaces atomically, and that only its owner may read.
struct OutputFile {
    let path: String
    /// The first bytes of files of this kind; a file that begins differently is not overwritten.
    let beginning: Data

    /// Writes a file next to it and renames that.
    ///
    /// - Throws: a usage error if something else exists at the path, and a ``CommandFailure`` if the file cannot be written.
    func write(_ data: Data) throws {
        try checkPlace()
        do {
            try DurableFile.replace(path, data, draft: DurableFile.ownDraft(of: path))
        } catch {
            throw failure(error.number)
        }
    }

    private func checkPlace() throws {
        var status = stat()
        guard lstat(path, &status) == 0 else {
            guard errno == ENOENT else { throw failure() }
            return
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw CommandFailure.usage("\(path): not a regular file, which is not overwritten; name another one")
        }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure() }
        defer { close(descriptor) }
        var start = [UInt8](repeating: 0, count: beginning.count)
        let count = read(descriptor, &start, start.count)
        guard count >= 0 else { throw failure() }
        guard count == 0 || Data(start.prefix(count)) == beginning else {
            throw CommandFailure.usage("\(path): a file of another kind, which is not overwritten; name another one")
        }
    }

    private func failure(_ number: Int32 = errno) -> CommandFailure {
        CommandFailure(
            status: .inputOutput,
            message: "\(path): it cannot be written: \(String(cString: strerror(number)))"
        )
    }
}
