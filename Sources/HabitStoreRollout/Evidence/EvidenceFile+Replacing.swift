import DurableFiles
import Foundation
import HabitStore

extension EvidenceFile {
    /// Moves the first `length` bytes to a separate file next to this one. Both files are durable when it returns; after a kill in between, the bytes
    /// are in both.
    func archive(_ length: Int, as name: String) throws {
        try copy(0..<length, to: Self.beside(path, name))
        CrashPoint.reach("evidence.archived")
        try copy(length..<(try size()), to: path)
        CrashPoint.reach("evidence.shortened")
    }

    /// Gives the file a second name in its folder, durably, so that a new file can take the first.
    func keep(as name: String) throws {
        guard link(path, Self.beside(path, name)) == 0 else {
            throw Self.error("cannot be kept under another name", errno, path)
        }
        try Self.told { try DurableFile.synchronizeFolder(of: path) }
    }

    /// Replaces whatever is at the path with bytes, atomically and durably.
    static func replace(_ path: String, with bytes: [UInt8]) throws {
        try told { try DurableFile.replace(path, bytes) }
    }

    /// The path of a file in the same folder.
    static func beside(_ path: String, _ name: String) -> String {
        URL(fileURLWithPath: path).deletingLastPathComponent().appendingPathComponent(name).path
    }

    private func copy(_ range: Range<Int>, to target: String) throws {
        try Self.told {
            try DurableFile.replace(target) { copy in try forEachChunk(in: range) { try copy.write($0) } }
        }
    }
}
