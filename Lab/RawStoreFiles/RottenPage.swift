import CLMDB
import Foundation
@_spi(Engines) import HabitStore

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Damage to one page of an LMDB file whose mark still calls the file sound.
package enum RottenPage: String, CaseIterable, Sendable {
    case anotherNumber = "the number of another page"
    case branch = "the type of a branch"
    case boundsBeyond = "bounds beyond the page"
    case noNodes = "no nodes"
    case nodesBeyond = "nodes beyond the page"
    case keyBeyond = "a key that reaches beyond the file"
    case valueBeyond = "a value that reaches beyond the file"

    private static let pageBytes = 4_096

    /// Damages the page at an offset of a file.
    package func plant(in file: FileHandle, at page: UInt64) throws {
        func write(_ bytes: [UInt8], _ offset: Int) throws {
            try file.seek(toOffset: page + UInt64(offset))
            try file.write(contentsOf: Data(bytes))
        }
        try file.seek(toOffset: page)
        let whole = Array(try file.read(upToCount: Self.pageBytes) ?? Data())
        guard whole.count == Self.pageBytes else { throw CocoaError(.fileReadCorruptFile) }
        func number(_ offset: Int) -> Int { Int(whole[offset]) | Int(whole[offset + 1]) << 8 }
        let node = number(16)
        switch self {
        case .anotherNumber: try write([whole[0] ^ 1], 0)
        case .branch: try write([1, 0], 10)
        case .boundsBeyond: try write([0xF0, 0xFF, 0xF0, 0xFF], 12)
        case .noNodes: try write([16, 0], 12)
        case .nodesBeyond: for place in stride(from: 16, to: number(12), by: 2) { try write([0xF0, 0xFF], place) }
        case .keyBeyond: try write([0xFF, 0xFF], node + 6)
        case .valueBeyond: try write([0xFF, 0xFF, 0xFF, 0x7F], node)
        }
    }

    /// Damages the page with a database's first record, and keeps the file's mark valid.
    package func plant(in path: String, database: String) throws {
        let page = try RawEnvironment(path: path).firstPage(of: database)
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        try plant(in: file, at: page * UInt64(Self.pageBytes))
        try file.close()
        try Self.keepMark(path)
    }

    /// Makes a store's mark fit its file: bits that rot below a file system change none of the file's times.
    package static func keepMark(_ path: String) throws {
        var status = stat()
        guard stat(path, &status) == 0 else { throw HabitStoreError(.notFound, "no file", at: .init(path: path)) }
        #if canImport(Darwin)
        let times = [status.st_mtimespec, status.st_ctimespec]
        #else
        let times = [status.st_mtim, status.st_ctim]
        #endif
        let mark = URL(fileURLWithPath: path + "-sound")
        var bytes = Array(try Data(contentsOf: mark))
        let fields =
            [UInt64(truncatingIfNeeded: status.st_dev), UInt64(status.st_ino), UInt64(status.st_size)]
            + times.map { UInt64(bitPattern: Int64($0.tv_sec) * 1_000_000_000 + Int64($0.tv_nsec)) }
        bytes.withUnsafeMutableBytes { buffer in
            for (index, field) in fields.enumerated() {
                buffer.storeBytes(of: field.littleEndian, toByteOffset: 24 + index * 8, as: UInt64.self)
            }
            let sum = XXHash64.hash(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<80]))
            buffer.storeBytes(of: sum.littleEndian, toByteOffset: 80, as: UInt64.self)
        }
        try Data(bytes).write(to: mark)
    }
}

extension RawEnvironment {
    /// The number of the page with a database's first record.
    package func firstPage(of database: String) throws -> UInt64 {
        var page: UInt64 = 0
        try write { page = try $0.firstPage(of: database) }
        return page
    }
}
