import Foundation
@_spi(Engines) import HabitStore
import HabitStoreRollout
import HabitTracker
import StandardEngines

/// A user's root of each kind, created once.
struct TangleTemplates {
    private let folder: URL
    private var writes: [String: Set<Int>] = [:]

    private static let writesAtEach = 6

    init(in parent: URL) throws {
        folder = parent.appendingPathComponent("templates")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        for old in EngineName.standard { try make(old) }
    }

    private func place(_ template: TangleTemplate, _ old: EngineName) -> URL {
        folder.appendingPathComponent("\(old.rawValue) \(template)")
    }

    private mutating func make(_ old: EngineName) throws {
        let root = folder.appendingPathComponent("\(old.rawValue)-making")
        try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
        let flags = StageFlags(path: folder.appendingPathComponent("flags.json").path, old: old)
        var number = 0
        for stage in Stage.allCases {
            try flags.want(.init(stage: stage))
            let user = try SweptUser(root: root.path, flags: flags, options: .tangle)
            while try user.store.stage() < stage { _ = try user.goForward() }
            for _ in 0..<Self.writesAtEach {
                number += 1
                try user.store.write(author: TangleWorkload.author(number)) { try TangleWorkload.write(number, in: $0) }
            }
            user.store.close()
            let place = place(.stage(stage), old)
            try FileManager.default.copyItem(at: root, to: place)
            writes[place.lastPathComponent] = Set(1...number)
        }
        for template in [TangleTemplate.filled, .missing, .pruned, .differing] { try make(template, old, flags) }
    }

    /// Makes a user with many records from one with few.
    private mutating func make(_ template: TangleTemplate, _ old: EngineName, _ flags: StageFlags) throws {
        let (few, place) = (place(.stage(template.at), old), place(template, old))
        try FileManager.default.copyItem(at: few, to: place)
        try flags.want(.init(stage: template.at))
        let user = try SweptUser(root: place.path, flags: flags, options: .tangle)
        try user.store.write(author: "much") { try TangleWorkload.fill(template.bulk, in: $0) }
        if template == .pruned { try user.store.pruneHistory(through: try user.store.currentToken()) }
        user.store.close()
        writes[place.lastPathComponent] = writes[few.lastPathComponent]
        let stores = try UserDirectory(root: place.path, user: SweptUser.name)
        if template == .differing {
            let mirror = StoreAddress(old.otherStandard, path: stores.path + "/" + TangleFiles.name(old.otherStandard))
            try TangleWorkload.spoil(try mirror.open(.readWrite, schema: HabitSchema.current))
        }
        guard template == .missing else { return }
        for name in try FileManager.default.contentsOfDirectory(atPath: stores.path)
        where name.hasPrefix(TangleFiles.name(old)) {
            try FileManager.default.removeItem(atPath: stores.path + "/" + name)
        }
    }

    /// Copies a template.
    ///
    /// - Parameter hasLongEvidence: whether its evidence is long enough that a checkpoint is due.
    /// - Returns: the writes that it contains.
    func copy(_ template: TangleTemplate, _ old: EngineName, hasLongEvidence: Bool, to root: URL) throws -> Set<Int> {
        let place = place(template, old)
        try FileManager.default.copyItem(at: place, to: root)
        if hasLongEvidence {
            try LongEvidence.write(EvidenceLog(UserDirectory(root: root.path, user: SweptUser.name)))
        }
        return writes[place.lastPathComponent] ?? []
    }
}
