import Foundation
@_spi(Engines) import HabitStore
import HabitStoreRollout
import HabitStoreTesting
import HabitTracker
import StandardEngines

/// A user's root of each kind, created once.
struct ConcurrentTemplates {
    private let folder: URL
    private var writes: [String: Set<Int>] = [:]

    private static let writesAtEach = 6

    init(in parent: URL) throws {
        folder = parent.appendingPathComponent("templates")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        for old in EngineName.standard { try make(old) }
    }

    private func place(_ template: ConcurrentTemplate, _ old: EngineName) -> URL {
        folder.appendingPathComponent("\(old.rawValue) \(template)")
    }

    private mutating func make(_ old: EngineName) throws {
        let root = folder.appendingPathComponent("\(old.rawValue)-making")
        try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
        let flags = StageFlags(path: folder.appendingPathComponent("flags.json").path, old: old)
        var number = 0
        for stage in Stage.allCases {
            try flags.want(.init(stage: stage))
            let user = try SweptUser(root: root.path, flags: flags, options: .concurrent)
            while try user.store.stage() < stage { _ = try user.goForward() }
            for _ in 0..<Self.writesAtEach {
                number += 1
                try user.store.write(author: ConcurrentWorkload.author(number)) {
                    try ConcurrentWorkload.write(number, in: $0)
                }
            }
            user.store.close()
            let place = place(.stage(stage), old)
            try FileManager.default.copyItem(at: root, to: place)
            writes[place.lastPathComponent] = Set(1...number)
        }
        for template in [ConcurrentTemplate.filled, .missing, .pruned, .differing] { try make(template, old, flags) }
    }

    /// Makes a user with many records from one with few.
    private mutating func make(_ template: ConcurrentTemplate, _ old: EngineName, _ flags: StageFlags) throws {
        let (few, place) = (place(.stage(template.at), old), place(template, old))
        try FileManager.default.copyItem(at: few, to: place)
        try flags.want(.init(stage: template.at))
        let user = try SweptUser(root: place.path, flags: flags, options: .concurrent)
        try user.store.write(author: "much") { try ConcurrentWorkload.fill(template.bulk, in: $0) }
        if template == .pruned { try user.store.pruneHistory(through: try user.store.currentToken()) }
        user.store.close()
        writes[place.lastPathComponent] = writes[few.lastPathComponent]
        let stores = try UserDirectory(root: place.path, user: SweptUser.name)
        if template == .differing {
            let mirror = StoreAddress(
                old.otherStandard,
                path: stores.path + "/" + ConcurrentFiles.name(old.otherStandard)
            )
            try ConcurrentWorkload.spoil(try mirror.open(.readWrite, schema: HabitSchema.current))
        }
        guard template == .missing else { return }
        for name in try FileManager.default.contentsOfDirectory(atPath: stores.path)
        where name.hasPrefix(ConcurrentFiles.name(old)) {
            try FileManager.default.removeItem(atPath: stores.path + "/" + name)
        }
    }

    /// Copies a template.
    ///
    /// - Parameter hasLongEvidence: whether its evidence is long enough that a checkpoint is due.
    /// - Returns: the writes that it contains.
    func copy(_ template: ConcurrentTemplate, _ old: EngineName, hasLongEvidence: Bool, to root: URL) throws -> Set<Int>
    {
        let place = place(template, old)
        try FileManager.default.copyItem(at: place, to: root)
        if hasLongEvidence {
            try LongEvidence.write(EvidenceLog(UserDirectory(root: root.path, user: SweptUser.name)))
        }
        return writes[place.lastPathComponent] ?? []
    }
}

/// The files of the sweep's user.
struct ConcurrentFiles {
    let path: String

    init(root: URL) throws { path = try UserDirectory(root: root.path, user: SweptUser.name).path }

    /// The prefix of the names of an engine's files.
    static func name(_ engine: EngineName) -> String { "store.\(engine.rawValue)" }

    var control: String { path + "/control" }
    var evidence: String { path + "/" + EvidenceLog.fileName }

    private func names(_ prefix: String) -> [String] {
        let names = try? FileManager.default.contentsOfDirectory(atPath: path)
        return names?.filter { $0.hasPrefix(prefix) && !$0.contains("-adopted-") && !$0.contains("-parted-") } ?? []
    }

    // MARK: While processes have them open

    /// Replaces a store with a copy of itself, like a folder that is copied and restored. No process may be writing.
    ///
    /// - Returns: whether there was a store.
    func replaceByCopy(_ engine: EngineName) throws -> Bool {
        let name = Self.name(engine)
        let parts = names(name).filter { $0 == name || $0 == name + "-wal" }
        guard parts.contains(name) else { return false }
        for part in parts {
            try FileManager.default.copyItem(atPath: "\(path)/\(part)", toPath: "\(path)/copy-\(part)")
        }
        for part in parts {
            guard rename("\(path)/copy-\(part)", "\(path)/\(part)") == 0 else {
                throw HabitStoreError(.inputOutput, "cannot replace a store with a copy", at: .init(path: path))
            }
        }
        // SQLite's index of the log belongs to the old file: with it, readers of that file would use pages of another log.
        unlink("\(path)/\(name)-shm")
        return true
    }

    /// Makes the evidence file immutable, even for root, or writable again.
    ///
    /// - Returns: whether this system supports that.
    func setEvidence(isWritable: Bool) -> Bool {
        let run = try? ChildProcess.run("chattr", [isWritable ? "-i" : "+i", evidence])
        return run?.isSuccess == true
    }

    // MARK: After all processes have ended

    /// Restores parts of an earlier copy of the folder, or removes them.
    func apply(_ tampering: ConcurrentTampering, from older: ConcurrentFiles) throws {
        let control = "control"
        let evidence = "evidence"
        switch tampering {
        case .olderSQLite: try put(Self.name(.sqlite), from: older)
        case .olderLMDB: try put(Self.name(.lmdb), from: older)
        case .olderControl: try put(control, from: older)
        case .olderEvidence: try put(evidence, from: older)
        case .missingSQLite: try put(Self.name(.sqlite), from: nil)
        case .missingLMDB: try put(Self.name(.lmdb), from: nil)
        case .missingControl: try put(control, from: nil)
        case .missingEvidence: try put(evidence, from: nil)
        case .olderFolder: for prefix in ["store.", control, evidence] { try put(prefix, from: older) }
        }
    }

    private func put(_ prefix: String, from older: ConcurrentFiles?) throws {
        for name in names(prefix) { try FileManager.default.removeItem(atPath: "\(path)/\(name)") }
        guard let older else { return }
        for name in older.names(prefix) {
            try FileManager.default.copyItem(atPath: "\(older.path)/\(name)", toPath: "\(path)/\(name)")
        }
    }
}
