import DurableFiles
import Foundation
import HabitStore
import HabitStoreRollout
import Hashing

extension Fleet {
    /// The fleet's part in an erasure: see ``forget(_:)``.
    public var erasure: ExternalErasure {
        ExternalErasure(
            find: { [self] user in try traces(of: user) },
            remove: { [self] user in try forget(user) }
        )
    }

    /// Forgets a user during an erasure: removes the user's line among the members and row in the index, and the id wherever the ledger or the reason
    /// of a halt or pause contains it. Other users stay in their waves.
    ///
    /// A ledger line that named the user contains `erased` instead, and it and all later lines get new hashes. A line `forgotten` records that, with
    /// the ledger's previous head, so that a reader who kept that head can tell why it is gone. Forgetting a user again changes nothing.
    ///
    /// - Returns: whether the user had left anything here.
    /// - Throws: ``HabitStoreError/Code/busy`` during a run, which has its members in memory; an error if the files cannot be written.
    @discardableResult
    public func forget(_ user: String) throws -> Bool {
        guard try !traces(of: user).items.isEmpty else { return false }
        try removeFirstDrawing()
        guard FileManager.default.fileExists(atPath: folder.path) else { return true }
        let lease = try takeLeaseToForget()
        defer { withExtendedLifetime(lease) {} }
        // An unfinished drawing would bring the user back.
        try finishDrawing()
        let members = try membersIfDrawn()
        let isMember = members?.members.contains { UserKey($0.user) == UserKey(user) } ?? false
        let others = isMember ? members?.removing(user) : nil
        var head: String?
        // Rewriting a truncated ledger would hide the truncation.
        let entries = try wholeLedger(by: try? FleetIndex.open(folder)).entries
        if isMember || entries.contains(where: { redacted($0.event, user) != nil }) {
            // The line before the members' file, as for joins: if the process dies in between, the next one does both again.
            head = try ledger.rewrite({ redacted($0, user) }) { changed, head in
                .forgotten(digest: others?.digest, redacted: changed, head: head)
            }
        }
        if let others { try write(others.data, to: folder.members, "the fleet's members") }
        try forgetInSignals(user)
        try removeDrafts(naming: user)
        try FleetIndex.remove(folder.indexDraft, "the draft of a rebuilt index")
        if FileManager.default.fileExists(atPath: folder.index) {
            let index = try FleetIndex.open(folder)
            if let head { try index.set(FleetIndex.head, head) }
            let doing = try index.word(FleetIndex.doing)
            if let doing, without(user, doing) != doing { try index.set(FleetIndex.doing, without(user, doing)) }
            try index.forget(user)
        }
        return true
    }

    private func takeLeaseToForget() throws -> LockedFile {
        do {
            return try takeLease(folder)
        } catch let error as HabitStoreError where error.code == .busy {
            throw HabitStoreError(
                .busy,
                "a `\(OperatorCommand.name) fleet run` is at work on this root, with its members in memory: halt it first with "
                    + "`\(OperatorCommand.name) fleet halt --because TEXT`, and resume it afterwards",
                at: error.location
            )
        }
    }

    /// Everything that the fleet stores about a user, and the places that cannot be reached.
    private func traces(of user: String) throws -> (items: [ErasureOutcome.Item], unreachable: [String]) {
        var items: [ErasureOutcome.Item] = []
        var unreachable: [String] = []
        func add(_ path: String) { items.append(.init(kind: "fleet", place: path)) }
        if hasFirstDrawing { add(folder.draft.path) }
        guard FileManager.default.fileExists(atPath: folder.path) else { return (items, []) }
        if try membersIfDrawn()?.members.contains(where: { UserKey($0.user) == UserKey(user) }) == true {
            add(folder.members)
        }
        if try ledger.read().entries.contains(where: { redacted($0.event, user) != nil }) { add(ledger.path) }
        if FileManager.default.fileExists(atPath: folder.index), try isInIndex(user) {
            add(folder.index)
        }
        let own = [folder.members, ledger.path, folder.index, folder.index + "-wal", folder.index + "-shm"]
        for name in (FileManager.default.subpaths(atPath: folder.path) ?? []).sorted() {
            let path = folder.path + "/" + name
            var status = stat()
            guard !own.contains(path), lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
                let data = try FleetFolder.contents(path, "a file of the fleet"),
                data.firstRange(of: Data(user.utf8)) != nil
            else { continue }
            if [folder.halted, folder.paused].contains(path) || isDraft(name) {
                add(path)
            } else {
                unreachable.append("\(path) contains the user's id: remove it by hand")
            }
        }
        return (items, unreachable)
    }

    private func isInIndex(_ user: String) throws -> Bool {
        let index = try FleetIndex.open(folder)
        let doing = try index.word(FleetIndex.doing) ?? ""
        return try index.entry(user) != nil || without(user, doing) != doing
    }

    private func membersIfDrawn() throws -> FleetMembers? {
        FileManager.default.fileExists(atPath: folder.members) ? try FleetMembers.load(folder.members) : nil
    }

    // MARK: Redaction

    private static let erased = "erased"

    /// An event without the user; nil if it does not name the user.
    private func redacted(_ event: FleetEvent, _ user: String) -> FleetEvent? {
        let other: FleetEvent
        switch event {
        case .halted(let by, let because, let named):
            let isNamed = named.map { UserKey($0) == UserKey(user) } ?? false
            other = .halted(by: by, because: without(user, because), user: isNamed ? Self.erased : named)
        case .paused(let by, let because): other = .paused(by: by, because: without(user, because))
        case .unpaused(let by, let because): other = .unpaused(by: by, because: without(user, because))
        case .resumed(let by, let because): other = .resumed(by: by, because: without(user, because))
        default: return nil
        }
        return other == event ? nil : other
    }

    /// A text without the user's id, where that is a whole word.
    private func without(_ user: String, _ text: String) -> String {
        var (result, rest) = ("", Substring(text))
        while let found = rest.firstRange(of: user) {
            let before = found.lowerBound == text.startIndex ? nil : text[text.index(before: found.lowerBound)]
            let after = found.upperBound == text.endIndex ? nil : text[found.upperBound]
            let isWord = [before, after].allSatisfy { $0.map { !$0.isLetter && !$0.isNumber } ?? true }
            result += rest[..<found.lowerBound] + (isWord ? Self.erased : user)
            rest = rest[found.upperBound...]
        }
        return result + rest
    }

    /// Removes the user from the reasons of a halt and a pause.
    private func forgetInSignals(_ user: String) throws {
        for (path, reason) in [(folder.halted, signals.halted), (folder.paused, signals.paused)] {
            guard var reason else { continue }
            let before = reason
            reason.because = without(user, reason.because)
            if let named = reason.user, UserKey(named) == UserKey(user) { reason.user = Self.erased }
            guard reason != before else { continue }
            do {
                try DurableFile.replace(path, Data(reason.text.utf8), draft: DurableFile.ownDraft(of: path))
            } catch {
                throw HabitStoreError(.inputOutput, "the reason \(error)", at: .init(path: path))
            }
        }
    }

    // MARK: Drafts

    /// Whether a file is a draft that a killed process has left.
    private func isDraft(_ name: String) -> Bool {
        let isIndex = (folder.path + "/" + name).hasPrefix(folder.indexDraft)
        return (name.hasSuffix(".new") || name.hasSuffix(Self.next) || isIndex) && !name.contains("/")
    }

    /// Whether a killed first drawing has left anything: it may have written members under another name, or part of them.
    private var hasFirstDrawing: Bool {
        let names = try? FileManager.default.contentsOfDirectory(atPath: folder.draft.path)
        return names?.contains { folder.draft.path + "/" + $0 != folder.draft.lease } ?? false
    }

    /// Removes the files of a killed first drawing, which never took effect.
    private func removeFirstDrawing() throws {
        guard hasFirstDrawing else { return }
        let lease = try takeLease(folder.draft)
        defer { withExtendedLifetime(lease) {} }
        try clear(folder.draft)
    }

    private func removeDrafts(naming user: String) throws {
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) where isDraft(name) {
            let path = folder.path + "/" + name
            guard try FleetFolder.contents(path, "a draft")?.firstRange(of: Data(user.utf8)) != nil else { continue }
            unlink(path)
        }
    }
}

extension Fleet {
    /// The users of a wave.
    ///
    /// - Parameter name: the wave's name, or its number from 1 if no wave has that name.
    /// - Returns: the wave's number, from 0, and its users in order.
    /// - Throws: ``HabitStoreError/Code/notFound`` if no waves were drawn, or none has this name.
    public func wave(_ name: String) throws -> (number: Int, users: [String]) {
        let members = try FleetMembers.load(folder.members)
        let number = members.waves.firstIndex(of: name) ?? Int(name).map { $0 - 1 }
        guard let number, members.waves.indices.contains(number) else {
            throw HabitStoreError(
                .notFound,
                "the fleet has no wave \"\(name)\"; it has \(members.waves.joined(separator: ", "))",
                at: .init(path: folder.members)
            )
        }
        return (number, members.wave(number).map(\.user))
    }

    /// Records that the stores that a wave's users had left were removed. Each user's evidence has recorded it before.
    ///
    /// - Parameters:
    ///   - wave: the wave's number, from 0.
    ///   - failed: how many users' stores were kept.
    /// - Throws: an error if the ledger cannot be written.
    public func noteRetired(wave: Int, users: Int, failed: Int) throws {
        try ledger.append(.retired(wave: wave, users: users, failed: failed))
    }
}

/// The names of users on pages and in reports.
///
/// A pseudonym is 48 bits of the HMAC-SHA256 of the id, keyed by the salt of the fleet's waves: it stays the same as long as the fleet exists, and
/// only readers of the fleet's files can find the user by trying ids.
struct FleetNames: Sendable {
    private let key: SymmetricKey
    private let root: String
    /// Whether to show ids.
    private let showsUsers: Bool

    /// - Parameter salt: the salt of the fleet's members.
    init(salt: String, root: String, showsUsers: Bool) {
        key = SymmetricKey(data: Data(salt.utf8))
        (self.root, self.showsUsers) = (root, showsUsers)
    }

    /// A user's id or pseudonym.
    func name(of user: String) -> String {
        guard !showsUsers else { return user }
        return String(HMAC<SHA256>.authenticationCode(for: Array(user.utf8), using: key).hexadecimal.prefix(12))
    }

    /// A text without the user's id and without paths into users' folders, whose names contain ids.
    ///
    /// - Parameter user: the user that the text is about; nil if there is none or it is unknown.
    func text(_ text: String, about user: String? = nil) -> String {
        guard !showsUsers else { return text }
        let named = user.map { $0.isEmpty ? text : text.replacing($0, with: name(of: $0)) } ?? text
        return named.replacing(/[uh]-(?:[0-9a-f]{2})+(?:-[0-9a-f]+)?/, with: "…")
    }

    /// A ledger event with users' names instead of ids.
    func event(_ event: FleetEvent) -> FleetEvent {
        guard case .halted(let person, let reason, let user) = event else { return event }
        return .halted(by: person, because: text(reason, about: user), user: user.map(name(of:)))
    }
}

extension Fleet {
    /// The id of the member with this pseudonym.
    ///
    /// - Throws: ``HabitStoreError/Code/notFound`` if no member has it; an error if the members cannot be read.
    public func user(named name: String) throws -> String {
        let members = try members()
        let names = FleetNames(salt: members.salt, root: root, showsUsers: false)
        let wanted = name.lowercased()
        guard let member = members.members.first(where: { names.name(of: $0.user) == wanted }) else {
            throw HabitStoreError(
                .notFound,
                "no member of the fleet has this name: names on the page have 12 digits and letters from a to f",
                at: .init(path: folder.members)
            )
        }
        return member.user
    }
}
