import DurableFiles
import Foundation
import HabitStore
import Synchronization

/// How long users' writes take until they are acknowledged, counted by all processes of a root in one shared page, for processes that monitor the
/// users of other processes.
///
/// The file `write-times` under the root has 4,096 bytes, in cells of 8, little endian: ``magic``, the version 1, and for each stage, in order,
/// ``WriteTimeCounts/bucketCount`` counts of writes by duration. Counts only rise. Processes count while the file exists, check for it every
/// ``lookSeconds``, and do not depend on it: it may be removed at any time.
final class WriteTimes: Sendable {
    static let magic: UInt64 = 0x3145_4D49_5442_4148
    static let version: UInt64 = 1
    /// The number of cells before the counts.
    static let headCells = 2
    static let pollSeconds = 5.0

    private struct State {
        var page: MappedPage?
        var inode: ino_t = 0
        var looked: ContinuousClock.Instant?
    }

    private let path: String
    private let state = Mutex(State())

    init(root: String) { path = Self.path(root: root) }

    static func path(root: String) -> String {
        URL(fileURLWithPath: root, isDirectory: true).appendingPathComponent("write-times").path
    }

    /// Creates the file if there is none, so that processes begin to count.
    ///
    /// - Throws: system errors.
    static func begin(root: String) throws {
        let path = path(root: root)
        do {
            let file = try OpenFile(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK)
            let status = try file.status()
            guard status.st_mode & S_IFMT == S_IFREG else { throw failure("is not a regular file", path, EINVAL) }
            guard status.st_size < MappedPage.sizeBytes else { return }
            let code = MappedPage.allocate(file.descriptor)
            guard code == 0 else { throw failure("cannot be given its room", path, code) }
            let page = try MappedPage(file.descriptor, isPrivate: false)
            page.cells[1].store(version, ordering: .releasing)
            page.cells[0].store(magic, ordering: .releasing)
        } catch let error as FileFailure {
            throw failure(error.step.rawValue, path, error.number)
        } catch let error as MappedPage.Failure {
            throw failure(error.what, path, error.number)
        }
    }

    private static func failure(_ what: String, _ path: String, _ number: Int32) -> HabitStoreError {
        HabitStoreError(
            number == EACCES || number == EROFS ? .permissionDenied : number == ENOSPC ? .full : .inputOutput,
            "the file of write times \(what): \(String(cString: strerror(number)))",
            at: .init(path: path)
        )
    }

    func count(_ stage: Stage, since start: ContinuousClock.Instant) {
        let now = ContinuousClock.now
        state.withLock { state in
            if state.looked.map({ now - $0 >= .seconds(Self.pollSeconds) }) ?? true {
                state.looked = now
                poll(&state)
            }
            guard let cells = state.page?.cells else { return }
            let bucket = WriteTimeCounts.bucket((now - start) / .seconds(1))
            cells[Self.headCells + stage.position * WriteTimeCounts.bucketCount + bucket]
                .add(1, ordering: .relaxed)
        }
    }

    /// Maps the present file. If it cannot be mapped, nothing is counted.
    private func poll(_ state: inout State) {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_size >= MappedPage.sizeBytes, status.st_mode & S_IFMT == S_IFREG
        else {
            state.page = nil
            return
        }
        if let page = state.page, status.st_ino == state.inode, Self.isSound(page) { return }
        state.page = nil
        guard let file = try? OpenFile(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK),
            let page = try? MappedPage(file.descriptor, isPrivate: false), Self.isSound(page)
        else { return }
        (state.page, state.inode) = (page, status.st_ino)
    }

    private static func isSound(_ page: MappedPage) -> Bool {
        page.cells[0].load(ordering: .acquiring) == magic && page.cells[1].load(ordering: .acquiring) == version
    }
}

/// Counts of writes by duration, for each stage of their users.
package struct WriteTimeCounts: Sendable, Hashable {
    /// The number of durations that are distinguished: five per doubling, from 16 µs on.
    package static let bucketCount = 85
    private static let shortest = 16e-6
    private static let eachDoubling = 5.0

    private var counts: [[UInt64]]

    /// Counts of no writes.
    package init() {
        counts = Array(repeating: Array(repeating: 0, count: Self.bucketCount), count: Stage.allCases.count)
    }

    /// The counts of all processes under a root; nil if nothing is counted.
    package init?(root: String) {
        guard let file = try? OpenFile(WriteTimes.path(root: root), O_RDONLY | O_NOFOLLOW | O_NONBLOCK) else {
            return nil
        }
        var cells = [UInt64](repeating: 0, count: MappedPage.sizeBytes / 8)
        let count = cells.withUnsafeMutableBytes { try? file.read(into: $0, at: 0) }
        guard count == MappedPage.sizeBytes, cells[0] == WriteTimes.magic, cells[1] == WriteTimes.version else {
            return nil
        }
        counts = Stage.allCases.map { stage in
            let first = WriteTimes.headCells + stage.position * Self.bucketCount
            return Array(cells[first..<first + Self.bucketCount])
        }
    }

    /// Makes processes count from now on, unless they already do.
    ///
    /// - Throws: why the file cannot be created.
    package static func begin(root: String) throws { try WriteTimes.begin(root: root) }

    static func bucket(_ seconds: Double) -> Int {
        guard seconds > shortest else { return 0 }
        return min(bucketCount - 1, Int(log2(seconds / shortest) * eachDoubling))
    }

    /// The longest duration in a bucket, in seconds; for the last one, its shortest.
    package static func seconds(ofBucket bucket: Int) -> Double {
        shortest * exp2(Double(min(bucket + 1, bucketCount - 1)) / eachDoubling)
    }

    /// The counts of writes at a stage, by bucket.
    package subscript(_ stage: Stage) -> [UInt64] {
        get { counts[stage.position] }
        set { counts[stage.position] = newValue }
    }

    /// The increase since earlier counts. If a count went down, the file was recreated meanwhile, and all counts are new.
    package func since(_ earlier: WriteTimeCounts) -> WriteTimeCounts {
        let hasRisen = zip(counts.joined(), earlier.counts.joined()).allSatisfy { $0 >= $1 }
        guard hasRisen else { return self }
        var difference = self
        for stage in Stage.allCases {
            difference[stage] = zip(self[stage], earlier[stage]).map { $0 - $1 }
        }
        return difference
    }

    /// The bucket of a percentile; nil if there are no counts.
    package static func bucket(ofPercent percent: Double, _ counts: [UInt64]) -> Int? {
        let all = counts.reduce(0, +)
        guard all > 0 else { return nil }
        return bucket(ofRank: UInt64((Double(all) * percent / 100).rounded(.up)), counts)
    }

    /// The bucket of the write with this rank, from the shortest; nil if there are fewer writes.
    package static func bucket(ofRank rank: UInt64, _ counts: [UInt64]) -> Int? {
        var sum: UInt64 = 0
        for (bucket, count) in counts.enumerated() {
            sum += count
            if sum >= max(1, rank) { return bucket }
        }
        return nil
    }
}
