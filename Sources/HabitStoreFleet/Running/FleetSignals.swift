import DurableFiles
import Foundation
import HabitStore
import HabitStoreRollout

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
            let wasHalted = try MarkerFile.remove(folder.halted)
            return try MarkerFile.remove(folder.paused) || wasHalted
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
