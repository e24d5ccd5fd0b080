import Foundation
import HabitStore
import HabitTracker
import StandardEngines

@testable import HabitStoreRollout

/// A user's folder whose parts are restored, each from another time or from another user.
struct RestoredFolder {
    /// A part of a user's folder.
    enum Part: CaseIterable {
        case old, new, control, evidence

        func isOf(_ name: String, old: EngineName) -> Bool {
            switch self {
            case .old: name.hasPrefix(old.fileName)
            case .new: name.hasPrefix(old.otherStandard.fileName)
            case .control: name == "control"
            case .evidence: name.hasPrefix("evidence")
            }
        }
    }

    /// The state of a part.
    enum State: String, CaseIterable {
        case asItIs, older, missing, foreign
    }

    static let combinations: [[State]] = State.allCases.flatMap { old in
        State.allCases.flatMap { new in
            State.allCases.flatMap { control in State.allCases.map { [old, new, control, $0] } }
        }
    }

    /// The contents of all acknowledged drafts.
    static let all = ["a", "b", "c", "d"]

    let user: StagedUser
    private let folder: TemporaryFolder
    private var places: [State: String] { [.asItIs: "now", .older: "older", .foreign: "foreign"] }

    /// Brings a user to a stage, with a copy of the folder from `shadow`, and creates another user.
    init(at stage: Stage) throws {
        user = try StagedUser()
        folder = try TemporaryFolder()
        for name in ["bob", "alice"] {
            try user.want("off")
            let store = try user.stores().store(for: name)
            let prefix = name == "bob" ? "bob's " : ""
            try store.save(Draft(content: prefix + "a"))
            if stage > .off {
                try user.bring(store, to: min(stage, .shadow)) { _ = try $0.all(Draft.self) }
            }
            try store.save(Draft(content: prefix + "b"))
            store.close()
            let path = try UserDirectory(root: user.root, user: name).path
            if name == "alice" { try FileManager.default.copyItem(atPath: path, toPath: folder.path("older")) }
            let again = try user.stores().store(for: name)
            try user.bring(again, to: stage) { _ = try $0.all(Draft.self) }
            for content in ["c", "d"] { try again.save(Draft(content: prefix + content)) }
            _ = again.files.leases.load()?.mirror?.waitUntilIdle(waitSeconds: 60)
            again.close()
            try FileManager.default.moveItem(atPath: path, toPath: folder.path(name == "bob" ? "foreign" : "now"))
        }
        try user.want(stage.rawValue)
    }

    /// Assembles the user's folder.
    func put(_ states: [State]) throws {
        let manager = FileManager.default
        let path = try user.directory.path
        try? manager.removeItem(atPath: path)
        try manager.createDirectory(atPath: path, withIntermediateDirectories: true)
        let file = folder.path("now") + "/user"
        try manager.copyItem(atPath: file, toPath: path + "/user")
        for (part, state) in zip(Part.allCases, states) {
            guard let place = places[state] else { continue }
            for name in try manager.contentsOfDirectory(atPath: folder.path(place)) where part.isOf(name, old: user.old)
            {
                try manager.copyItem(atPath: folder.path(place) + "/" + name, toPath: path + "/" + name)
            }
        }
    }
}
