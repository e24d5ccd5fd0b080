internal import CZlib
import Foundation
import HabitStore
import HabitStoreImport

/// The files of an export, from a folder or a zip.
struct SourceFiles {
    /// The maximum number of files, and their maximum total size in bytes.
    static let maximumFiles = 20_000
    static let maximumBytes = 512 << 20
    private static let maximumDepth = 4

    let path: String
    /// The contents, by names such as `folder/file`.
    private(set) var contents: [String: [UInt8]] = [:]

    /// Reads a folder, or unpacks a zip in memory.
    ///
    /// - Parameter wanted: selects the names of files to read.
    init(path: String, wanted: (String) -> Bool = { _ in true }) throws {
        self.path = path
        var status = stat()
        guard stat(path, &status) == 0 else { throw HabitStoreError.system(errno, "the file cannot be reached", path) }
        if status.st_mode & S_IFMT == S_IFDIR {
            var size = 0
            try read(folder: "", depth: 0, wanted, &size)
        } else {
            contents = try ZipArchive(try WholeFile.read(path).bytes, path: path).files(wanted)
        }
        // Strip a folder that was packed around the files.
        while let common = Self.commonFolder(contents.keys) {
            contents = Dictionary(uniqueKeysWithValues: contents.map { (String($0.dropFirst(common.count + 1)), $1) })
        }
    }

    private static func commonFolder(_ names: some Collection<String>) -> String? {
        let folders = Set(names.map { $0.split(separator: "/").dropLast().first.map(String.init) ?? "" })
        guard folders.count == 1, let folder = folders.first, !folder.isEmpty,
            // The folder of a single habit is part of the export.
            !names.allSatisfy({ $0.hasSuffix("/Checkmarks.csv") || $0.hasSuffix("/Scores.csv") })
        else { return nil }
        return folder
    }

    private mutating func read(folder: String, depth: Int, _ wanted: (String) -> Bool, _ size: inout Int) throws {
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: path + "/" + folder).sorted()
        } catch {
            throw HabitStoreError(
                .permissionDenied,
                "the folder cannot be read",
                at: .init(path: path),
                underlying: error
            )
        }
        for name in names where !name.hasPrefix(".") {
            let relative = folder.isEmpty ? name : folder + "/" + name
            var status = stat()
            guard stat(path + "/" + relative, &status) == 0 else { continue }
            if status.st_mode & S_IFMT == S_IFDIR {
                if depth < Self.maximumDepth { try read(folder: relative, depth: depth + 1, wanted, &size) }
            } else if status.st_mode & S_IFMT == S_IFREG, wanted(relative) {
                size += Int(status.st_size)
                guard contents.count < Self.maximumFiles, size <= Self.maximumBytes else {
                    throw HabitStoreError(
                        .limitExceeded,
                        "there are too many or too large files in it",
                        at: .init(path: path)
                    )
                }
                contents[relative] = try WholeFile.read(path + "/" + relative).bytes
            }
        }
    }
}

/// A strict reader of zip files in memory: the central directory at the end is authoritative, files are stored or deflated, and their
/// contents must have the stated size and checksum. See PKWARE's APPNOTE.
///
/// Refuses archives in several parts, encrypted ones, Zip64, names that lead outside the folder, and more data than
/// ``SourceFiles/maximumBytes``.
struct ZipArchive {
    private struct Member {
        let name: String
        let method: Int
        let checksum: UInt32
        let packedSize: Int
        let size: Int
        let header: Int
    }

    private static let endSize = 22
    private static let memberSize = 46
    private static let headerSize = 30
    private static let maximumCommentSize = 65_535

    private let bytes: [UInt8]
    private let path: String
    private var members: [Member] = []

    /// Whether bytes begin like a zip.
    static func isZip(_ bytes: some Sequence<UInt8>) -> Bool {
        let head = Array(bytes.prefix(4))
        return head == [0x50, 0x4B, 0x03, 0x04] || head == [0x50, 0x4B, 0x05, 0x06]
    }

    init(_ bytes: [UInt8], path: String) throws {
        self.bytes = bytes
        self.path = path
        guard let end = end() else { throw failure("it is cut short, or no zip at all") }
        let (count, size, start) = (word(end + 10), long(end + 12), long(end + 16))
        guard word(end + 4) == 0, word(end + 6) == 0, word(end + 8) == count else {
            throw failure("it is one of several parts")
        }
        guard count != 0xFFFF, start != 0xFFFF_FFFF, size != 0xFFFF_FFFF else {
            throw failure("it is of the 64-bit form, which is not read")
        }
        guard count <= SourceFiles.maximumFiles else { throw failure("it holds \(count) files, which is too many") }
        guard start <= end, size <= end - start else { throw failure("its list of files lies outside of it") }
        var offset = start
        for _ in 0..<count { members.append(try member(&offset, end: end)) }
    }

    /// The contents of the files, by name.
    func files(_ wanted: (String) -> Bool) throws -> [String: [UInt8]] {
        var result: [String: [UInt8]] = [:]
        var total = 0
        for member in members where !member.name.hasSuffix("/") {
            try requireInside(member.name)
            guard wanted(member.name) else { continue }
            total += member.size
            guard total <= SourceFiles.maximumBytes else { throw failure("it holds more data than is unpacked") }
            guard result.updateValue(try content(member), forKey: member.name) == nil else {
                throw failure("it holds two files of one name")
            }
        }
        return result
    }

    private func end() -> Int? {
        guard bytes.count >= Self.endSize else { return nil }
        let first = max(0, bytes.count - Self.endSize - Self.maximumCommentSize)
        for offset in stride(from: bytes.count - Self.endSize, through: first, by: -1)
        where long(offset) == 0x0605_4B50 && offset + Self.endSize + word(offset + 20) == bytes.count {
            return offset
        }
        return nil
    }

    private func member(_ offset: inout Int, end: Int) throws -> Member {
        guard offset + Self.memberSize <= end, long(offset) == 0x0201_4B50 else {
            throw failure("its list of files is damaged")
        }
        let (nameSize, extra, comment) = (word(offset + 28), word(offset + 30), word(offset + 32))
        let next = offset + Self.memberSize + nameSize + extra + comment
        guard next <= end else { throw failure("its list of files is damaged") }
        guard word(offset + 8) & 1 == 0 else { throw failure("it is encrypted") }
        let raw = bytes[(offset + Self.memberSize)..<(offset + Self.memberSize + nameSize)]
        guard let name = String(validating: raw, as: UTF8.self) else {
            throw failure("the name of a file is not UTF-8")
        }
        let result = Member(
            name: name,
            method: word(offset + 10),
            checksum: UInt32(long(offset + 16)),
            packedSize: long(offset + 20),
            size: long(offset + 24),
            header: long(offset + 42)
        )
        offset = next
        return result
    }

    private func content(_ member: Member) throws -> [UInt8] {
        let header = member.header
        guard header + Self.headerSize <= bytes.count, long(header) == 0x0403_4B50 else {
            throw failure("a file is not where its list says")
        }
        let start = header + Self.headerSize + word(header + 26) + word(header + 28)
        guard start <= bytes.count, member.packedSize <= bytes.count - start else { throw failure("it is cut short") }
        let packed = bytes[start..<(start + member.packedSize)]
        let content: [UInt8]
        switch member.method {
        case 0: content = Array(packed)
        case 8:
            // The stated size is not trusted: decompression stops as soon as it is exceeded.
            guard let data = Inflation.inflate(Data(packed), .none, limit: member.size) else {
                throw failure("a file in it is damaged, or larger than is stated")
            }
            content = Array(data)
        default: throw failure("a file in it is packed in a way that is not known")
        }
        let checksum = crc32(0, content, UInt32(content.count))
        guard content.count == member.size, UInt32(truncatingIfNeeded: checksum) == member.checksum else {
            throw failure("a file in it has another size or checksum than is stated")
        }
        return content
    }

    private func requireInside(_ name: String) throws {
        let parts = name.split(separator: "/", omittingEmptySubsequences: false)
        guard !name.hasPrefix("/"), !name.contains("\\"), !name.utf8.contains(0), !parts.contains("..") else {
            throw failure("the name of a file in it leads elsewhere")
        }
    }

    private func word(_ offset: Int) -> Int { Int(bytes[offset]) | Int(bytes[offset + 1]) << 8 }

    private func long(_ offset: Int) -> Int { word(offset) | word(offset + 2) << 16 }

    private func failure(_ message: String) -> HabitStoreError {
        HabitStoreError(.invalidSource, "the zip cannot be read: \(message)", at: .init(path: path))
    }
}
