import Foundation
import HabitStore
import HabitStoreRollout
import StandardEngines

/// The files of the user of the tangle.
struct TangleFiles {
    /// The user's folder.
    let path: String

    init(root: URL) throws { path = try UserDirectory(root: root.path, user: SweptUser.name).path }

    /// What the names of an engine's files begin with.
    static func name(_ engine: EngineName) -> String { "store.\(engine.rawValue)" }

    var control: String { path + "/control" }
    var evidence: String { path + "/" + EvidenceLog.fileName }

    private func names(_ prefix: String) -> [String] {
        let names = try? FileManager.default.contentsOfDirectory(atPath: path)
        return names?.filter { $0.hasPrefix(prefix) && !$0.contains("-adopted-") && !$0.contains("-parted-") } ?? []
    }

    // MARK: While processes have them open

    /// Puts a copy of a store in its place, as who copies a folder and puts it back does. Nobody may be writing.
    ///
    /// - Returns: whether there was one.
    func replaceByCopy(_ engine: EngineName) throws -> Bool {
        let name = Self.name(engine)
        let parts = names(name).filter { $0 == name || $0 == name + "-wal" }
        guard parts.contains(name) else { return false }
        for part in parts {
            try FileManager.default.copyItem(atPath: "\(path)/\(part)", toPath: "\(path)/copy-\(part)")
        }
        for part in parts {
            guard rename("\(path)/copy-\(part)", "\(path)/\(part)") == 0 else {
                throw HabitStoreError(.inputOutput, "a copy cannot be put in a store's place", at: .init(path: path))
            }
        }
        // SQLite's index of the log belongs to the file that was there: with it, readers of that file would take pages of another
        // log for theirs.
        unlink("\(path)/\(name)-shm")
        return true
    }

    /// Makes the evidence a file that cannot be written, also by root; or lets it be written again.
    ///
    /// - Returns: whether that could be done here.
    func setEvidence(isWritable: Bool) -> Bool {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["chattr", isWritable ? "-i" : "+i", evidence]
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }

    // MARK: When all have ended

    /// Puts parts of an earlier copy of the folder back, or removes them.
    func apply(_ tampering: TangleTampering, from older: TangleFiles) throws {
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

    private func put(_ prefix: String, from older: TangleFiles?) throws {
        for name in names(prefix) { try FileManager.default.removeItem(atPath: "\(path)/\(name)") }
        guard let older else { return }
        for name in older.names(prefix) {
            try FileManager.default.copyItem(atPath: "\(older.path)/\(name)", toPath: "\(path)/\(name)")
        }
    }
}
