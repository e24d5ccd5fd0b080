import Foundation
import HabitStore

/// Copies the bytes of a file into one that only its owner can read. What the file system knows to be a hole becomes one in the
/// copy, so that a file which is long and has little in it takes no longer than what is in it.
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
        var position: off_t = 0
        while let data = try FileHoles.data(of: input, from: position, source) {
            position = data.lowerBound
            while position < data.upperBound {
                let count = try read(
                    input,
                    &buffer,
                    min(chunkSize, Int(data.upperBound - position)),
                    at: position,
                    source
                )
                // Somebody has cut it meanwhile, which whoever asked for the copy finds out.
                guard count > 0 else { break }
                try write(buffer, count, to: output, at: position, target)
                position += off_t(count)
            }
        }
        var status = stat()
        guard fstat(input, &status) == 0 else { throw error(errno, source, "the file cannot be read") }
        guard ftruncate(output, status.st_size) == 0 else {
            throw error(errno, target, "the private copy cannot be written")
        }
    }

    /// Whether every byte of a file from an offset on is 0.
    static func isZero(_ path: String, from start: off_t) throws -> Bool {
        let input = open(path, O_RDONLY | O_CLOEXEC)
        guard input >= 0 else { throw error(errno, path, "the private copy cannot be read") }
        defer { close(input) }
        var buffer = [UInt8](repeating: 0, count: chunkSize)
        var position = start
        while let data = try FileHoles.data(of: input, from: position, path) {
            position = data.lowerBound
            while position < data.upperBound {
                let count = try read(
                    input,
                    &buffer,
                    min(chunkSize, Int(data.upperBound - position)),
                    at: position,
                    path
                )
                guard count > 0 else { return true }
                guard buffer[..<count].allSatisfy({ $0 == 0 }) else { return false }
                position += off_t(count)
            }
        }
        return true
    }

    private static func read(
        _ input: Int32,
        _ buffer: inout [UInt8],
        _ most: Int,
        at position: off_t,
        _ path: String
    ) throws -> Int {
        while true {
            let count = buffer.withUnsafeMutableBytes { pread(input, $0.baseAddress, most, position) }
            if count >= 0 { return count }
            guard errno == EINTR else { throw error(errno, path, "the file cannot be read") }
        }
    }

    private static func write(
        _ buffer: [UInt8],
        _ count: Int,
        to output: Int32,
        at position: off_t,
        _ target: String
    ) throws {
        var done = 0
        while done < count {
            let written = buffer.withUnsafeBytes { bytes in
                pwrite(output, bytes.baseAddress.map { $0 + done }, count - done, position + off_t(done))
            }
            if written >= 0 {
                done += written
            } else if errno != EINTR {
                throw error(errno, target, "the private copy cannot be written")
            }
        }
    }

    fileprivate static func error(_ number: Int32, _ path: String, _ message: String) -> HabitStoreError {
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

/// Where a file has data, and where the file system knows that there are zeros only.
private enum FileHoles {
    // glibc gives these to C only.
    #if canImport(Darwin)
    private static let (seekHole, seekData): (Int32, Int32) = (3, 4)
    #else
    private static let (seekData, seekHole): (Int32, Int32) = (3, 4)
    #endif

    /// The next bytes that may be others than 0, from a position on; nil where there are none before the end.
    static func data(of descriptor: Int32, from position: off_t, _ path: String) throws -> Range<off_t>? {
        let start = lseek(descriptor, position, seekData)
        if start < 0 {
            if errno == ENXIO { return nil }
            guard errno == EINVAL || errno == ENOTSUP else {
                throw FileCopy.error(errno, path, "the file cannot be read")
            }
            // A file system that knows of no holes.
            let end = lseek(descriptor, 0, SEEK_END)
            return position < end ? position..<end : nil
        }
        let end = lseek(descriptor, start, seekHole)
        guard end > start else { throw FileCopy.error(errno, path, "the file cannot be read") }
        return start..<end
    }
}
