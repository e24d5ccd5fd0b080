import Foundation
@_spi(Engines) import HabitStore

/// Records that a file's structure was found intact, with what is needed to tell whether it has changed since.
///
/// The file `<store>-sound` contains one (see *On-disk formats*). It counts only if all of it matches the file at hand. It proves
/// nothing about the medium beneath the file system, so it is valid until the system restarts, and for at most
/// ``longestTrustSeconds``.
struct LMDBSoundMark: Equatable, Sendable {
    /// The length of a mark in bytes, including its checksum.
    static let length = 88
    /// The time after which even an unchanged file is walked again: seven days.
    static let longestTrustSeconds: Int64 = 7 * 24 * 3_600

    private static let magic: UInt64 = 0x3164_6E53_7453_6248  // "HbStSnd1"

    /// The boot of the system.
    var boot: LMDBBoot
    /// The file's `stat` fingerprint.
    var file: LMDBFileState
    /// The transaction with the verified structure.
    var transaction: UInt64
    /// The time of the last walk over all pages, in seconds since 1970.
    var walkedAt: Int64

    init(boot: LMDBBoot, file: LMDBFileState, transaction: UInt64, walkedAt: Int64) {
        self.boot = boot
        self.file = file
        self.transaction = transaction
        self.walkedAt = walkedAt
    }

    /// Nil for anything but a valid mark.
    init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count >= Self.length else { return nil }
        let fields = (0..<Self.length / 8).map { bytes.loadUnaligned(fromByteOffset: $0 * 8, as: UInt64.self) }
        let sum = XXHash64.hash(UnsafeRawBufferPointer(rebasing: bytes[..<(Self.length - 8)]), seed: 0)
        guard fields[0] == Self.magic, fields[10] == sum else { return nil }
        boot = LMDBBoot(high: fields[1], low: fields[2])
        file = LMDBFileState(
            identity: LMDBFileIdentity(device: fields[3], inode: fields[4]),
            length: fields[5],
            modified: Int64(bitPattern: fields[6]),
            changed: Int64(bitPattern: fields[7])
        )
        transaction = fields[8]
        walkedAt = Int64(bitPattern: fields[9])
    }

    /// Calls `body` with the mark's bytes.
    func withBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        try withUnsafeTemporaryAllocation(byteCount: Self.length, alignment: 8) { buffer in
            let fields = (
                Self.magic, boot.high, boot.low, file.identity.device, file.identity.inode, file.length,
                UInt64(bitPattern: file.modified), UInt64(bitPattern: file.changed), transaction,
                UInt64(bitPattern: walkedAt)
            )
            withUnsafeBytes(of: fields) { buffer.copyMemory(from: $0) }
            let sum = XXHash64.hash(UnsafeRawBufferPointer(rebasing: buffer[..<(Self.length - 8)]), seed: 0)
            buffer.storeBytes(of: sum, toByteOffset: Self.length - 8, as: UInt64.self)
            return try body(UnsafeRawBufferPointer(buffer))
        }
    }

    /// Whether the mark matches this file at this transaction, in this boot of the system.
    func agrees(with file: LMDBFileState, transaction: UInt64, boot: LMDBBoot) -> Bool {
        self.file == file && self.transaction == transaction && self.boot == boot
    }

    /// Whether the last walk is recent enough; a time in the future does not count.
    func isFresh(at now: Int64) -> Bool { walkedAt <= now && walkedAt > now - Self.longestTrustSeconds }
}
