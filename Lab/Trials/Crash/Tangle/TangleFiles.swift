import Foundation
import HabitStore
import HabitStoreRollout
import StandardEngines

/// The files of the sweep's user.
struct TangleFiles {
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
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["chattr", isWritable ? "-i" : "+i", evidence]
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }

    // MARK: After all processes have ended

    /// Restores parts of an earlier copy of the folder, or removes them.
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
