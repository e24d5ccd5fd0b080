import DurableFiles
import Foundation
import HabitStore

/// Identifiers in the order they were added, which may exceed memory. They are spilled to an unlinked file that disappears with the
/// process.
final class SpilledIdentifiers {
    /// The number of identifiers in memory at a time.
    static let batch = 2_000
    private static let size = MemoryLayout<uuid_t>.size

    private var descriptor: Int32 = -1
    private var pending: [UUID] = []
    /// The number of identifiers.
    private(set) var count = 0

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// The number of identifiers in memory.
    var heldCount: Int { pending.count }

    func append(_ id: UUID) throws {
        pending.append(id)
        count += 1
        if pending.count == Self.batch { try spill() }
    }

    /// Calls `body` with all identifiers, up to ``batch`` at a time.
    func forEachBatch(_ body: ([UUID]) throws -> Void) throws {
        var position = 0
        while position < count - pending.count {
            let ids = try read(at: position)
            try body(ids)
            position += ids.count
        }
        if !pending.isEmpty { try body(pending) }
    }

    private func spill() throws {
        if descriptor < 0 { try makeFile() }
        let bytes = pending.flatMap { id in withUnsafeBytes(of: id.uuid) { Array($0) } }
        let number = bytes.withUnsafeBytes { OpenFile.write($0, to: descriptor) }
        guard number == 0 else {
            throw HabitStoreError.system(number, "what is set aside cannot be written", Self.folder)
        }
        pending.removeAll(keepingCapacity: true)
    }

    private func read(at position: Int) throws -> [UUID] {
        var bytes = [UInt8](repeating: 0, count: Self.batch * Self.size)
        var done = 0
        while done < bytes.count {
            let offset = off_t(position * Self.size + done)
            let got = bytes[done...].withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, offset) }
            if got < 0, errno == EINTR { continue }
            guard got > 0 else {
                throw HabitStoreError.system(got < 0 ? errno : EIO, "what was set aside cannot be read", Self.folder)
            }
            done += got
        }
        return stride(from: 0, to: bytes.count, by: Self.size).map { start in
            bytes[start..<(start + Self.size)].withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
        }
    }

    private static var folder: String { FileManager.default.temporaryDirectory.path }

    private func makeFile() throws {
        let path = "\(Self.folder)/habitstore-identifiers-\(UUID().uuidString)"
        descriptor = try FileFailure.told { try OpenFile.open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW) }
        unlink(path)
    }
}
