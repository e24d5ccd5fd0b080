import DurableFiles
import Foundation
import Testing

struct DurableFileTests: ~Copyable {
    private let folder: String

    init() throws {
        folder = NSTemporaryDirectory() + "/durable-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    private func path(_ name: String) -> String { folder + "/" + name }
    private func text(_ name: String) throws -> String { try String(contentsOfFile: path(name), encoding: .utf8) }
    private func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: folder).sorted() }

    private func mode(_ name: String) throws -> mode_t {
        var status = stat()
        try #require(stat(path(name), &status) == 0)
        return status.st_mode & 0o777
    }

    @Test func aReplacedFileIsItsOwnersAloneWhateverWasThere() throws {
        try Data("old".utf8).write(to: URL(fileURLWithPath: path("a")))
        #expect(chmod(path("a"), 0o644) == 0)
        try DurableFile.replace(path("a"), Data("new".utf8))
        #expect(try text("a") == "new")
        #expect(try mode("a") == 0o600)
        #expect(try names() == ["a"])
    }

    @Test func aReplacedFileKeepsPermissionsThatAreAskedFor() throws {
        try Data("old".utf8).write(to: URL(fileURLWithPath: path("a")))
        #expect(chmod(path("a"), 0o640) == 0)
        var status = stat()
        try #require(stat(path("a"), &status) == 0)
        try DurableFile.replace(path("a"), Data("new".utf8), like: status)
        #expect(try mode("a") == 0o640)
    }

    @Test func aDraftThatAKilledProcessLeftIsWrittenOverAndALinkInItsPlaceIsNotFollowed() throws {
        try Data("half".utf8).write(to: URL(fileURLWithPath: path("a.new")))
        try DurableFile.replace(path("a"), Data("whole".utf8))
        #expect(try text("a") == "whole")
        try Data("theirs".utf8).write(to: URL(fileURLWithPath: path("theirs")))
        try FileManager.default.createSymbolicLink(atPath: path("a.new"), withDestinationPath: path("theirs"))
        try DurableFile.replace(path("a"), Data("again".utf8))
        #expect(try text("a") == "again")
        #expect(try text("theirs") == "theirs")
        #expect(try names() == ["a", "theirs"])
    }

    @Test func whatCannotTakeItsPlaceLeavesNoDraft() throws {
        try FileManager.default.createDirectory(atPath: path("a"), withIntermediateDirectories: false)
        let failure = #expect(throws: FileFailure.self) { try DurableFile.replace(path("a"), Data("text".utf8)) }
        #expect(failure?.step == .replace)
        #expect(failure?.path == path("a"))
        #expect(try names() == ["a"])
    }

    @Test func whatItsWriterThrowsLeavesTheOldFileAlone() throws {
        struct Stop: Error {}
        try DurableFile.replace(path("a"), Data("old".utf8))
        #expect(throws: Stop.self) {
            try DurableFile.replace(path("a")) { file in
                try file.write(Data("half".utf8))
                throw Stop()
            }
        }
        #expect(try text("a") == "old")
        #expect(try names() == ["a"])
    }

    @Test func publishingNeverTakesAnothersName() throws {
        try DurableFile.create(path("draft"), Data("mine".utf8))
        try DurableFile.create(path("a"), Data("theirs".utf8))
        #expect(try !DurableFile.publish(path("draft"), as: path("a")))
        #expect(try text("a") == "theirs")
        #expect(try DurableFile.publish(path("draft"), as: path("b")))
        #expect(try text("b") == "mine")
    }

    @Test func aMarkerIsMadeAndRemovedOnce() throws {
        #expect(try MarkerFile.make(path("killed"), "by hand\n"))
        #expect(try !MarkerFile.make(path("killed"), "by another process\n"))
        #expect(try text("killed") == "by hand\n")
        #expect(try mode("killed") == 0o600)
        #expect(try DurableFile.remove(path("killed")))
        #expect(try !DurableFile.remove(path("killed")))
    }

    @Test func aMarkerThatCannotBeMadeSaysWhy() throws {
        let failure = #expect(throws: FileFailure.self) { try MarkerFile.make(path("missing/killed"), "") }
        #expect(failure?.step == .make)
        #expect(failure?.number == ENOENT)
        #expect(failure?.description == "cannot be made: No such file or directory")
    }

    @Test func aHeldLockIsWaitedForAndThenRefused() throws {
        do {
            let held = try LockedFile(folder: folder, timeoutSeconds: 0)
            defer { withExtendedLifetime(held) {} }
            let failure = #expect(throws: FileFailure.self) { _ = try LockedFile(folder: folder, timeoutSeconds: 0.05) }
            #expect(failure?.isBusy == true)
        }
        _ = try LockedFile(folder: folder, timeoutSeconds: 0)
    }

    @Test func readersShareALockThatAWriterDoesNotGet() throws {
        try DurableFile.create(path("a"), Data())
        let (one, other) = (try OpenFile.open(path("a"), O_RDONLY), try OpenFile.open(path("a"), O_RDONLY))
        defer { for descriptor in [one, other] { close(descriptor) } }
        #expect(try AdvisoryLock.shared.tryTake(one, path: path("a")))
        #expect(try AdvisoryLock.shared.tryTake(other, path: path("a")))
        AdvisoryLock.release(one)
        #expect(try !AdvisoryLock.exclusive.tryTake(one, path: path("a")))
        AdvisoryLock.release(other)
        #expect(try AdvisoryLock.exclusive.tryTake(one, path: path("a")))
    }

    @Test func chunksAreAllBytesInTheirOrderAndEndWhereTheyAreToldTo() throws {
        let bytes = (0..<10_000).map { UInt8(truncatingIfNeeded: $0 * 7) }
        try DurableFile.create(path("a"), bytes)
        let file = try OpenFile(path("a"), O_RDONLY)
        var read: [UInt8] = []
        try file.forEachChunk(limit: 999) { chunk, position in
            #expect(position == off_t(read.count))
            read += chunk
            return true
        }
        #expect(read == bytes)
        read = []
        try file.forEachChunk(in: 100..<5_000, limit: 999) { chunk, _ in
            read += chunk
            return read.count < 1_500
        }
        #expect(read == Array(bytes[100..<2_098]))
    }

    @Test func aCopyIsPrivateAndHasTheHolesAndTheLengthOfItsSource() throws {
        do {
            let source = try OpenFile(newAt: path("a"))
            try source.write(Data("beginning".utf8), at: 0)
            try source.write(Data("middle".utf8), at: 8 << 20)
            try source.truncate(to: 64 << 20)
        }
        #expect(chmod(path("a"), 0o644) == 0)
        try FileCopy.copy(path("a"), to: path("b"))
        #expect(try mode("b") == 0o600)
        #expect(FileManager.default.contentsEqual(atPath: path("a"), andPath: path("b")))
        #expect(try !FileCopy.isZero(path("b"), from: 8 << 20))
        #expect(try FileCopy.isZero(path("b"), from: 9 << 20))
    }
}
