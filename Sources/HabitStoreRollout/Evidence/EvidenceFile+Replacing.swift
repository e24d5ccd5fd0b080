import Foundation
import HabitStore

extension EvidenceFile {
    /// Puts the first `length` bytes into a file of their own beside this one, and has this one begin behind them. Both last
    /// when it returns; killed in between, the bytes are in both.
    func archive(_ length: Int, as name: String) throws {
        try copy(0..<length, to: Self.beside(path, name))
        CrashPoint.reach("evidence.archived")
        try copy(length..<(try size()), to: path)
        CrashPoint.reach("evidence.shortened")
    }

    /// Gives the file another name beside its own, for good, so that its own one is free to be taken.
    func keep(as name: String) throws {
        guard link(path, Self.beside(path, name)) == 0 else { throw Self.error("kept under another name", errno, path) }
        try Self.synchronizeFolder(path)
    }

    /// Puts bytes in place of whatever has the path, at once and for good.
    static func replace(_ path: String, with bytes: [UInt8]) throws {
        try replace(path) { descriptor in try write(bytes, to: descriptor, path) }
    }

    /// The path of a file in the same folder.
    static func beside(_ path: String, _ name: String) -> String {
        URL(fileURLWithPath: path).deletingLastPathComponent().appendingPathComponent(name).path
    }

    private func copy(_ range: Range<Int>, to target: String) throws {
        try Self.replace(target) { descriptor in
            for start in stride(from: range.lowerBound, to: range.upperBound, by: 1_048_576) {
                try Self.write(try read(start..<min(start + 1_048_576, range.upperBound)), to: descriptor, target)
            }
        }
    }

    private static func replace(_ path: String, _ fill: (Int32) throws -> Void) throws {
        // What a killed process left under this name is written over.
        let draft = path + ".new"
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
        guard descriptor >= 0 else { throw error("written anew", errno, draft) }
        do {
            defer { close(descriptor) }
            try fill(descriptor)
            try synchronize(descriptor, draft)
            guard rename(draft, path) == 0 else { throw error("put in its place", errno, path) }
        } catch {
            unlink(draft)
            throw error
        }
        try synchronizeFolder(path)
    }
}
