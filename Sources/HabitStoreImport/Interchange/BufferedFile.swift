import DurableFiles
import Foundation
import HabitStore

/// A new private file, written in pieces.
final class BufferedFile {
    private static let limit = 1 << 18

    private let file: OpenFile
    private var buffer: [UInt8] = []

    init(_ path: String) throws {
        do {
            file = try OpenFile(newAt: path)
        } catch {
            throw HabitStoreError.system(error)
        }
    }

    func write(_ text: String) throws {
        buffer += text.utf8
        if buffer.count >= Self.limit { try flush() }
    }

    /// Writes everything to disk.
    func finish() throws {
        try flush()
        try FileFailure.told { try file.synchronize() }
    }

    private func flush() throws {
        try FileFailure.told { try file.write(buffer) }
        buffer.removeAll(keepingCapacity: true)
    }
}
