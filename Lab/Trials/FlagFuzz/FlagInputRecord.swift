import Foundation

/// The current input in a memory-mapped file: after a crash, the file contains the input that caused it. The first eight bytes are its length, little
/// endian.
final class FlagInputRecord {
    private let memory: UnsafeMutableRawBufferPointer

    private static let sizeBytes = 1 << 20

    init(path: String) throws {
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0, ftruncate(descriptor, off_t(Self.sizeBytes)) == 0,
            let address = mmap(nil, Self.sizeBytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0),
            address != MAP_FAILED
        else {
            throw CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: path])
        }
        close(descriptor)
        memory = UnsafeMutableRawBufferPointer(start: address, count: Self.sizeBytes)
    }

    deinit { munmap(memory.baseAddress, memory.count) }

    func set(_ input: [UInt8]) {
        let length = min(input.count, memory.count - 8)
        memory.storeBytes(of: UInt64(length).littleEndian, as: UInt64.self)
        UnsafeMutableRawBufferPointer(rebasing: memory[8...]).copyBytes(from: input.prefix(length))
    }
}
