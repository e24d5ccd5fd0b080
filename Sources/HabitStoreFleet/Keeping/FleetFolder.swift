import DurableFiles
import Foundation
import HabitStore
import HabitStoreRollout

/// A fleet's files under the root of its users: `ROOT/fleet`, accessible to its owner only.
struct FleetFolder: Sendable {
    let path: String

    init(root: String) { path = URL(fileURLWithPath: root, isDirectory: true).appendingPathComponent("fleet").path }

    private init(path: String) { self.path = path }

    /// The folder of a first drawing, which is renamed when it is complete.
    var draft: FleetFolder { FleetFolder(path: path + ".new") }

    /// The users of each wave, drawn once.
    var members: String { path + "/members.tsv" }
    /// The plan of the last drawing, unchanged.
    var plan: String { path + "/plan" }
    /// The record of what was done, one line for each event.
    var ledger: String { path + "/ledger.jsonl" }
    /// The index of all users, which can be rebuilt.
    var index: String { path + "/fleet.sqlite" }
    /// The index while it is rebuilt.
    var indexDraft: String { index + ".new" }
    /// The hooks' positions in the ledger.
    var hooks: String { path + "/hooks.json" }
    /// Locked by the process that notifies hooks.
    var hooksLease: String { path + "/hooks.lock" }
    /// Locked by the process that moves users.
    var lease: String { path + "/run.lock" }
    /// Exists while no user may be moved, and contains the reason.
    var halted: String { path + "/halted" }
    /// Exists while no user may be started, and contains the reason.
    var paused: String { path + "/paused" }

    /// Reads one of the files without blocking.
    ///
    /// - Parameter what: the file's description for errors.
    /// - Returns: nil if there is no file.
    /// - Throws: ``HabitStoreError/Code/inputOutput`` if it is not a regular file or cannot be read.
    static func contents(_ path: String, _ what: String) throws -> Data? {
        do {
            // Opening a pipe without a writer would block forever.
            let file = try OpenFile(path, O_RDONLY | O_NONBLOCK)
            guard try file.status().st_mode & S_IFMT == S_IFREG else {
                throw HabitStoreError(
                    .inputOutput,
                    "\(what) must be in a regular file",
                    at: .init(path: path)
                )
            }
            return try file.contents()
        } catch let failure as FileFailure {
            if failure.number == ENOENT { return nil }
            throw HabitStoreError(
                failure.number == EACCES ? .permissionDenied : .inputOutput,
                "\(what) cannot be read: \(failure.reason)",
                at: .init(path: path)
            )
        }
    }

    /// Creates the folder.
    ///
    /// - Throws: ``HabitStoreError/Code/permissionDenied`` if that fails.
    func make() throws {
        try PrivateFolder.make(
            path,
            or: .permissionDenied,
            "the fleet's folder cannot be made; check the root's permissions and space"
        )
    }
}

/// Halts and pauses a fleet by the existence of files, so that stopping needs neither an index nor a page and also reaches a run that does not
/// respond.
struct FleetSignals: Sendable {
    /// Why the fleet is halted or paused.
    struct Reason: Sendable, Hashable {
        var by: String
        var because: String
        /// The user who caused it; nil if none did.
        var user: String?
        /// The kind of halt; nil for a pause or if it is unknown.
        var kind: Runbook.Halt?

        var text: String {
            "by: \(Self.line(by))\nbecause: \(Self.line(because))\n" + (user.map { "user: \(Self.line($0))\n" } ?? "")
                + (kind.map { "kind: \($0.rawValue)\n" } ?? "")
        }

        fileprivate init(parsing text: String) {
            var fields: [String: String] = [:]
            for line in text.split(separator: "\n") {
                guard let colon = line.firstRange(of: ": ") else { continue }
                fields[String(line[..<colon.lowerBound])] = String(line[colon.upperBound...])
            }
            (by, because, user) = (fields["by"] ?? "someone", fields["because"] ?? "no reason given", fields["user"])
            kind = fields["kind"].flatMap(Runbook.Halt.init)
        }

        init(by: String, because: String, user: String? = nil, kind: Runbook.Halt? = nil) {
            (self.by, self.because, self.user, self.kind) = (by, because, user, kind)
        }

        private static func line(_ text: String) -> String { text.replacing("\n", with: " ") }
    }

    let folder: FleetFolder

    /// Why the fleet is halted; nil if it is not.
    var halted: Reason? { reason(folder.halted) }

    /// Why the fleet is paused; nil if it is not.
    var paused: Reason? { reason(folder.paused) }

    /// Whether the fleet is halted; costs one `lstat`.
    var isHalted: Bool {
        var status = stat()
        return lstat(folder.halted, &status) == 0
    }

    /// - Returns: false if the file existed already.
    @discardableResult
    func halt(_ reason: Reason) throws -> Bool { try make(folder.halted, reason) }

    @discardableResult
    func pause(_ reason: Reason) throws -> Bool { try make(folder.paused, reason) }

    /// - Returns: whether the fleet was halted or paused.
    func resume() throws -> Bool {
        do {
            let wasHalted = try DurableFile.remove(folder.halted)
            return try DurableFile.remove(folder.paused) || wasHalted
        } catch {
            throw HabitStoreError(
                .permissionDenied,
                "the fleet cannot be resumed: \(error)",
                at: .init(path: folder.path)
            )
        }
    }

    private func make(_ path: String, _ reason: Reason) throws -> Bool {
        do {
            return try MarkerFile.make(path, reason.text)
        } catch {
            var status = stat()
            // The file exists, and that is what counts.
            if lstat(path, &status) == 0 { return true }
            throw HabitStoreError(
                .inputOutput,
                "the file that stops the fleet cannot be written: \(error); the kill switch does not need it",
                at: .init(path: path)
            )
        }
    }

    private func reason(_ path: String) -> Reason? {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        // Only the file's existence counts, whatever it is.
        let data = (try? FleetFolder.contents(path, "the reason")) ?? nil
        return Reason(parsing: String(decoding: (data ?? Data()).prefix(65_536), as: UTF8.self))
    }
}
