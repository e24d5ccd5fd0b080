import DurableFiles
import Foundation
@_spi(Engines) import HabitStore

/// A store that serves a user and is damaged, while the user's other store is there and may have everything. A backup would be the worse choice then.
///
/// A kill does not read whole files: it may take a user from a sound store to one that is damaged in a page that only some reads touch.
extension StorePair {
    /// The damage that the engine's own check finds in a store; nil if it finds none. Reads all of the store, like `check`.
    ///
    /// - Throws: why the store cannot be checked now.
    func damage(in engine: EngineName) throws -> String? {
        do {
            let findings = try read(engine) { store, _ in try store.check { _ in } }
            return findings.first { $0.severity == .damage }?.message
        } catch let error as HabitStoreError where error.isLastingDamage {
            return error.withoutBackup
        }
    }
}

extension UserDirectory {
    /// A command of the rollout for this user, as typed into a shell.
    func command(_ name: String, _ options: [String] = []) -> String {
        let place =
            store.map { [DurableFile.folder(of: DurableFile.folder(of: root)), "--store-name", $0.text] } ?? [root]
        let words = ["rollout", name, "--root"] + place + ["--user", user] + options
        return "`\(OperatorCommand.name) \(words.map(ShellWord.quoted).joined(separator: " "))`"
    }

    /// The remedy for a damaged serving store, in one sentence.
    ///
    /// - Parameters:
    ///   - damaged: the engine of the damaged store.
    ///   - token: its last token; nil if unknown.
    ///   - sound: the other store, in which no damage was found.
    func remedy(for damaged: EngineName, at token: HistoryToken?, by sound: ReplicaStatus) -> String {
        let reason = "the \(damaged.rawValue) store is damaged"
        let accept = command("accept", ["--engine", sound.engine.rawValue, "--because", reason])
        let lacks = token.map { $0 > sound.token ? ", and lacks what was written after that, up to token \($0)" : "" }
        return
            "the \(sound.engine.rawValue) store is sound, at token \(sound.token)\(lacks ?? ""): \(accept) serves it, and sets "
            + "the damaged file aside"
    }
}

extension HabitStoreError {
    /// Whether the error concerns the file itself, wherever it is read.
    var isLastingDamage: Bool { isDamage || AuthorityResolution.lastingDamage.contains(code) }

    /// The message without the advice to restore a backup.
    fileprivate var withoutBackup: String {
        guard message.hasSuffix("restore a backup"), let end = message.lastIndex(of: ";") else { return message }
        return String(message[..<end])
    }

    /// The same error of a damaged store, for a user whose other store is there.
    ///
    /// - Parameter other: the other store, which was not checked; nil if there is none.
    func naming(_ other: ReplicaStatus?) -> HabitStoreError {
        guard isLastingDamage, let other, other.role != .backfilling, other.path != location.path else { return self }
        let tool = OperatorCommand.name
        return HabitStoreError(
            code,
            "\(withoutBackup); restore no backup yet, since the user's \(other.engine.rawValue) store is there, at token \(other.token): "
                + "`\(tool) rollout doctor --user U` checks it, and if it is sound, `\(tool) rollout accept --user U --engine "
                + "\(other.engine.rawValue) --because TEXT` serves it",
            at: location,
            detail: detail,
            underlying: underlying,
            isDamage: isDamage
        )
    }
}
