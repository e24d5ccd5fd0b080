import DurableFiles
import Foundation
@_spi(Engines) import HabitStore

/// A user's place in the rollout, according to the stores and the evidence.
public struct UserStatus: Sendable {
    /// The state of the following store.
    public enum Mirror: Sendable, Hashable {
        /// This stage has no mirror.
        case none
        /// There is no store, or it was not filled completely.
        case notFilled
        /// It has diverged from the current store, and cannot follow.
        case parted
        /// It lags by this many transactions; 0 if it has everything.
        case behind(Int)
        /// It cannot be read, or the current store cannot.
        case unknown
    }

    /// A difference that was found.
    public struct Difference: Sendable, Hashable {
        /// When it was found.
        public let time: Date
        /// The stage at which it was found.
        public let stage: Stage
        /// What differs, without the user's values.
        public let message: String
    }

    /// A summary of the evidence.
    public struct Evidence: Sendable {
        /// The number of records.
        public var records = 0
        /// The first changed or damaged line.
        public var damage: EvidenceChain.Damage?
        /// Whether the evidence ends before the stores' anchor: lines were cut off at its end.
        public var isCutOff = false
        /// Whether every line is there, as far as is known.
        public var isIntact: Bool { damage == nil && !isCutOff }
        /// The last difference.
        public var lastDifference: Difference?
        /// The finding that the stores differ, if no complete verification has refuted it since, at any stage; nil otherwise.
        public var openDifference: Difference?
        /// The last verification of this stay, and whether it was clean.
        public var lastVerification: (time: Date, isClean: Bool)?
        /// The last complete verification without a difference, in any stay.
        public var lastCleanVerification: Date?
        /// The last rehearsal of the way back, and whether it was clean.
        public var lastRehearsal: (time: Date, isClean: Bool)?
        /// The clean shadow reads since the user left `off`.
        public var cleanReadsOnTheWay = 0
    }

    /// A problem with the user's files.
    public struct Problem: Sendable {
        /// Its place: an engine's name such as `sqlite`, `evidence`, or `stores`.
        public let place: String
        /// The error.
        public let error: HabitStoreError
    }

    /// The user's id.
    public let user: String
    /// The stage; nil if no store can tell.
    public internal(set) var stage: Stage?
    /// The target of an unfinished move; the next operation finishes or undoes it.
    public internal(set) var movingTo: Stage?
    /// The stage that the flags want; nil if they name none.
    public internal(set) var wanted: Stage?
    /// The engine that serves at the stage.
    public internal(set) var engine: EngineName?
    /// Whether the user was killed and not re-armed.
    public internal(set) var isKilled = false
    /// What pulls the kill switch for the user now; nil if nothing does.
    public internal(set) var killTrigger: String?
    /// The current store's token; nil if it cannot be read.
    public internal(set) var token: HistoryToken?
    /// The current store's epoch.
    public internal(set) var epoch: Int?
    /// The state of the mirror.
    public internal(set) var mirror = Mirror.none
    /// The stores' anchor of the evidence.
    var anchor: EvidenceHead? { trust.anchor }
    /// Decides which lines of the evidence count.
    var trust = EvidenceTrust()
    /// A summary of the evidence.
    public internal(set) var evidence = Evidence()
    /// The gate's decision on the next stage; nil if there is none, or the stage is unknown.
    public internal(set) var next: GateDecision?
    /// Why the user stays at a later stage than the flags want; nil otherwise.
    public internal(set) var stays: GateReason?
    /// Why the flags change nothing.
    public internal(set) var notes: [String] = []
    /// What cannot be read, the current store first.
    public internal(set) var problems: [Problem] = []

    init(user: String) { self.user = user }

    /// Why the user is not at the stage that the flags want; empty at the wanted stage, without a wanted stage, and if the gate has no objection or
    /// could not be asked.
    public var reasonsNotThere: [GateReason] {
        guard let stage, let wanted, wanted != stage else { return [] }
        let reasons = stays.map { [$0] } ?? next?.reasons ?? []
        // The gate is not asked without evidence, and a kill holds all the same.
        guard isKilled || killTrigger != nil, !reasons.contains(.killed) else { return reasons }
        return [.killed] + reasons
    }

    /// The same in one line, with the user in its commands; nil at the wanted stage. If the gate has no objection or could not be asked, what cannot
    /// be read is in the way.
    ///
    /// - Parameter user: the user's id, quoted for a shell.
    package func whyNotThere(user: String) -> String? {
        guard let stage, let wanted, wanted != stage else { return nil }
        var sentences = reasonsNotThere.map { $0.sentence(user: user) }
        if stays == nil, next?.isOpen ?? true {
            sentences += problems.map { "\($0.place): \($0.error.description)" }
            if !problems.isEmpty {
                sentences.append("`\(OperatorCommand.name) rollout doctor --user \(user)` says what helps")
            }
        }
        guard sentences.isEmpty else { return sentences.joined(separator: "; ") }
        guard next?.isOpen == true else {
            return
                "the gate could not be asked: `\(OperatorCommand.name) rollout doctor --user \(user)` says what is wrong"
        }
        return "nothing is in the way: `\(OperatorCommand.name) rollout advance --user \(user)` takes the user there"
    }

    /// The clean shadow reads that count at this stage.
    public var cleanShadowReads: Int { next?.cleanShadowReads ?? 0 }
}

/// The users of a root whose stores were found to differ: `ROOT/differing` has a file for each, with the name of the user's folder.
///
/// The evidence decides. A mark says whose evidence to read, so that a fleet's status, page and metrics show a difference without reading every
/// user's evidence. It is written after the evidence, and removed after a complete verification that found no difference.
package struct DifferenceMarks: Sendable {
    private static let folderName = "differing"

    private let root: String
    private var folder: String { root + "/" + Self.folderName }

    /// The marks of a root; creates nothing yet.
    package init(root: String) { self.root = root }

    init(_ directory: UserDirectory) { self.init(root: directory.root) }

    /// The folder, whose modification time shows a change.
    package var path: String { folder }

    func path(of directory: UserDirectory) -> String { folder + "/" + directory.name }

    /// Updates a user's mark from the evidence.
    ///
    /// - Parameter read: reads the evidence. It is called again after a mark was removed, since another process may have found a difference in
    ///   between.
    func update(_ directory: UserDirectory, _ read: () throws -> StageEvidence) throws {
        if let difference = try read().openDifference { return try set(directory, difference) }
        guard isSet(directory), try read().lastClean != nil else { return }
        try remove(directory)
        if let difference = try read().openDifference { try set(directory, difference) }
    }

    func remove(_ directory: UserDirectory) throws {
        do {
            _ = try DurableFile.remove(path(of: directory))
        } catch {
            throw HabitStoreError.system(error, "the mark of a user whose stores differed")
        }
    }

    /// Removes the mark of a user whose stores a complete verification has found equal.
    package func forget(_ user: String) throws { try remove(UserDirectory(root: root, user: user)) }

    func isSet(_ directory: UserDirectory) -> Bool { BackupFiles.exists(path(of: directory)) }

    private func set(_ directory: UserDirectory, _ difference: StageEvidence.Difference) throws {
        try PrivateFolder.make(
            folder,
            or: .permissionDenied,
            "the folder of users whose stores differ cannot be made; check the root's permissions and space"
        )
        let time = difference.time.date.formatted(.iso8601)
        do {
            _ = try MarkerFile.make(
                path(of: directory),
                "\(time) \(difference.stage.rawValue)\n\(difference.message)\n"
            )
        } catch {
            throw HabitStoreError.system(error, "the mark of a user whose stores differ")
        }
    }

    /// The marked ones of the users.
    package func marked(among users: [String]) throws -> [String] {
        guard BackupFiles.exists(folder) else { return [] }
        let names = Set(try BackupFiles.names(folder))
        guard !names.isEmpty else { return [] }
        let parent = UserDirectory.folder(root: root)
        return try users.filter { names.contains(try UserDirectory(folder: parent, user: $0).name) }
    }

    /// The state of a user's stores, from the evidence alone.
    package enum Word: Sendable, Hashable {
        /// They differ: a difference was found, and no complete verification has refuted it since.
        case differs(UserStatus.Difference)
        /// A complete verification found no difference, and no difference was found since.
        case clean
        /// No difference was found, and no verification was clean.
        case unknown
    }

    /// Reads a user's evidence.
    ///
    /// - Throws: why it cannot be read.
    package func word(of user: String) throws -> Word {
        let directory = try UserDirectory(root: root, user: user)
        let evidence = try EvidenceLog(directory).summary().evidence
        if let difference = evidence.openDifference { return .differs(.init(difference)) }
        return evidence.lastClean == nil ? .unknown : .clean
    }
}
