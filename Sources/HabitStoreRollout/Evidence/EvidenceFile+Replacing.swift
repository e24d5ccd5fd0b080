import DurableFiles
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
        guard link(path, Self.beside(path, name)) == 0 else {
            throw Self.error("cannot be kept under another name", errno, path)
        }
        try Self.told { try DurableFile.synchronizeFolder(of: path) }
    }

    /// Puts bytes in place of whatever has the path, at once and for good.
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
