import Foundation
import HabitStore

/// Copies the bytes of a file into one that only its owner can read.
enum FileCopy {
    private static let chunkSize = 1 << 20

    /// - Throws: an error that names the file that could not be read or written.
    static func copy(_ source: String, to target: String, mayBeMissing: Bool = false) throws {
        let input = open(source, O_RDONLY | O_CLOEXEC)
        guard input >= 0 else {
            if mayBeMissing, errno == ENOENT { return }
            throw error(errno, source, "the file cannot be read")
        }
        defer { close(input) }
        let output = open(target, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard output >= 0 else { throw error(errno, target, "the private copy cannot be written") }
        defer { close(output) }
        var buffer = [UInt8](repeating: 0, count: chunkSize)
        while true {
            let count = buffer.withUnsafeMutableBytes { read(input, $0.baseAddress, $0.count) }
            if count == 0 { return }
            if count < 0 {
                if errno == EINTR { continue }
                throw error(errno, source, "the file cannot be read")
            }
            try write(buffer, count, to: output, target)
        }
    }

    private static func write(_ buffer: [UInt8], _ count: Int, to output: Int32, _ target: String) throws {
        var done = 0
        while done < count {
            let written = buffer.withUnsafeBytes { bytes in
                Foundation.write(output, bytes.baseAddress.map { $0 + done }, count - done)
            }
            if written >= 0 {
                done += written
            } else if errno != EINTR {
                throw error(errno, target, "the private copy cannot be written")
            }
        }
    }

    private static func error(_ number: Int32, _ path: String, _ message: String) -> HabitStoreError {
        let code: HabitStoreError.Code
        switch number {
        case EACCES, EPERM: code = .permissionDenied
        case ENOSPC, EDQUOT: code = .full
        case ENOENT: code = .notFound
        default: code = .inputOutput
        }
        return HabitStoreError(code, "\(message): \(String(cString: strerror(number)))", at: .init(path: path))
    }
}
