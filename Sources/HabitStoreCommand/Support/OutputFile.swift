import Foundation

/// A file that a command writes as a whole, or not at all, and that only its owner may read.
struct OutputFile {
    let path: String
    /// What the files of its kind begin with: another file in its place is not written over.
    let beginning: Data

    /// Writes a file beside it, and puts that in its place.
    ///
    /// - Throws: a usage error when something else is there, and a ``CommandFailure`` when it cannot be written.
    func write(_ data: Data) throws {
        try checkPlace()
        let draft = path + "." + UUID().uuidString
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw failure() }
        var number = Self.fill(descriptor, data)
        if close(descriptor) != 0, number == nil { number = errno }
        if number == nil, rename(draft, path) != 0 { number = errno }
        guard let number else { return }
        unlink(draft)
        throw failure(number)
    }

    private func checkPlace() throws {
        var status = stat()
        guard lstat(path, &status) == 0 else {
            guard errno == ENOENT else { throw failure() }
            return
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw CommandFailure.usage("\(path): what is here is no file, and cannot be written over; name another one")
        }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure() }
        defer { close(descriptor) }
        var start = [UInt8](repeating: 0, count: beginning.count)
        let count = read(descriptor, &start, start.count)
        guard count >= 0 else { throw failure() }
        guard count == 0 || Data(start.prefix(count)) == beginning else {
            throw CommandFailure.usage("\(path): this is another file, and is not written over; name another one")
        }
    }

    /// - Returns: the error number that ended it, or nil.
    private static func fill(_ descriptor: Int32, _ data: Data) -> Int32? {
        var position = 0
        while position < data.count {
            let count = data.dropFirst(position).withUnsafeBytes {
                Foundation.write(descriptor, $0.baseAddress, $0.count)
            }
            if count >= 0 {
                position += count
            } else if errno != EINTR {
                return errno
            }
        }
        return fsync(descriptor) == 0 ? nil : errno
    }

    private func failure(_ number: Int32 = errno) -> CommandFailure {
        CommandFailure(
            status: .inputOutput,
            message: "\(path): it cannot be written: \(String(cString: strerror(number)))"
        )
    }
}
