import DurableFiles
import Foundation

/// The records of a stage between their old place and their new one, in an unnamed file next to the store, which disappears however the
/// process ends. Its memory use does not grow with the store.
final class MigrationSpool {
    private let file: OpenFile
    private let path: String
    private var buffer = Data()

    private static let headerBytes = 8

    /// - Parameter path: the store's; the file lies in its folder.
    /// - Throws: ``HabitStoreError/Code/permissionDenied``, ``HabitStoreError/Code/full`` or
    ///   ``HabitStoreError/Code/inputOutput``.
    init(besideStore path: String) throws {
        let name = "\(path)-migrating-\(UUID().uuidString)"
        do {
            file = try OpenFile(newAt: name)
        } catch {
            throw Self.failure(error.number, path)
        }
        self.path = path
        guard unlink(name) == 0 else { throw Self.failure(errno, path) }
    }

    /// Adds a record: the entity's position u32, the number of bytes u32, the bytes.
    func append(entity: Int, _ record: EncodedRecord) throws {
        for number in [UInt32(entity), UInt32(record.bytes.count)] {
            withUnsafeBytes(of: number.littleEndian) { buffer.append(contentsOf: $0) }
        }
        buffer.append(contentsOf: record.bytes)
        if buffer.count >= OpenFile.chunkBytes { try flush() }
    }

    private func flush() throws {
        do {
            try file.write(buffer)
        } catch {
            throw Self.failure(error.number, path)
        }
        buffer.removeAll(keepingCapacity: true)
    }

    /// Hands what was added to `body`, in its order.
    func forEach(_ body: (_ entity: Int, EncodedRecord) throws -> Void) throws {
        try flush()
        var rest = Data()
        do {
            try file.forEachChunk { chunk, _ in
                rest.append(contentsOf: chunk)
                let used = try rest.withUnsafeBytes { try Self.records(in: $0, body) }
                rest = Data(rest.dropFirst(used))
                return true
            }
        } catch let failure as FileFailure {
            throw Self.failure(failure.number, path)
        }
        guard rest.isEmpty else {
            throw HabitStoreError(
                .inputOutput,
                "the file between old and new records was cut short",
                at: .init(path: path)
            )
        }
    }

    /// - Returns: how many bytes the whole records took.
    private static func records(
        in bytes: UnsafeRawBufferPointer,
        _ body: (_ entity: Int, EncodedRecord) throws -> Void
    ) throws -> Int {
        var offset = 0
        while bytes.count - offset >= headerBytes {
            func number(_ place: Int) -> Int {
                Int(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset + place, as: UInt32.self)))
            }
            let (entity, count) = (number(0), number(4))
            let end = offset + headerBytes + count
            guard end <= bytes.count else { break }
            try body(
                entity,
                EncodedRecord(copying: UnsafeRawBufferPointer(rebasing: bytes[(offset + headerBytes)..<end]))
            )
            offset = end
        }
        return offset
    }

    private static func failure(_ number: Int32, _ path: String) -> HabitStoreError {
        let code: HabitStoreError.Code
        switch number {
        case ENOSPC, EDQUOT: code = .full
        case EACCES, EPERM, EROFS: code = .permissionDenied
        default: code = .inputOutput
        }
        return HabitStoreError(
            code,
            "the store is unchanged; the records could not be set aside in its folder: \(String(cString: strerror(number)))",
            at: .init(path: path)
        )
    }
}
