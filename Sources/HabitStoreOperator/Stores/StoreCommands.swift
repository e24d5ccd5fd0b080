import ArgumentParser
import Foundation
@_spi(Engines) import HabitStore
import HabitStoreRollout
import JSONText

/// `habitstore info A`.
struct InfoCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "info",
        abstract: "Shows a store's metadata and how many records it has."
    )

    @OptionGroup var output: OutputOptions

    @Argument(help: "The store: \(Tool.storeForms), or a path.")
    var store: String

    func run() async throws {
        let address = try StoreAddress(argument: store)
        let store = try address.openAsWritten(.readOnly, by: .known)
        defer { store.close() }
        // The target of an unfinished copy or import serves no reads, but has information.
        let (information, counts) = try store.replicaRead { replica in
            let counts = try store.schema.entities.enumerated().map { ($1.name, try replica.count(entity: $0)) }
            return (try replica.information(), counts)
        }
        try output.write([
            "path": address.path,
            "engine": address.engine.rawValue,
            "storeID": information.storeID.uuidString,
            "lineage": information.lineage.uuidString,
            "token": information.token.rawValue,
            "historyFloor": information.historyFloor.rawValue,
            "role": information.role.rawValue,
            "epoch": information.epoch,
            "schemaVersion": store.schema.version.description,
            "counts": Dictionary(uniqueKeysWithValues: counts),
        ]) {
            var table = TextTable([.init("", canShrink: false), .init("")])
            table.append(["path", address.path])
            table.append(["engine", address.engine.rawValue])
            table.append(["store", information.storeID.uuidString.lowercased()])
            table.append(["lineage", information.lineage.uuidString.lowercased()])
            table.append(["schema", "version \(store.schema.version)"])
            table.append(["token", information.token.description])
            table.append(["history from", String(information.historyFloor.rawValue + 1)])
            table.append(["role", "\(information.role.rawValue), epoch \(information.epoch)"])
            for (name, count) in counts { table.append([name, String(count)]) }
            return table.text(Terminal.options())
        }
    }
}

/// `habitstore check A`.
struct CheckCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Checks a store against itself: structure, records, indexes, relationships, history, digests.",
        discussion: """
            Exit code 1 means damage, even if it keeps the store from being opened, or records that this version's models \
            cannot read, most likely because a newer version of the app wrote them. Odd data, such as a reference that leads \
            nowhere, is listed but is not damage. Each transaction updates digests of the records; digestDeviates means \
            that something else changed the file. If the records are known to be right, --rebuild-digests recomputes the \
            digests.
            """
    )

    @OptionGroup var output: OutputOptions

    @Argument(help: "The store: \(Tool.storeForms), or a path.")
    var store: String

    @Flag(help: "Recompute the stored digests from the records before the check.")
    var rebuildDigests = false

    @Flag(help: "Show no progress.")
    var quiet = false

    func run() async throws {
        let address = try StoreAddress(argument: store)
        let (findings, total) = try check(address)
        let isDamaged = findings.contains { $0.severity == .damage }
        let isUnreadable = findings.contains { $0.severity == .unreadable }
        try output.write([
            "store": address.description,
            "isDamaged": isDamaged,
            "isUnreadable": isUnreadable,
            "records": total,
            "findings": findings.map(json),
        ]) { text(findings, total) }
        if isDamaged || isUnreadable { throw ExitCode(ExitStatus.different.rawValue) }
    }

    /// - Returns: the findings, and how many records the store has; nil if damage keeps it from being read.
    private func check(_ address: StoreAddress) throws -> (findings: [StoreFinding], total: Int?) {
        var total: Int?
        do {
            let store = try address.openAsWritten(rebuildDigests ? .readWrite : .readOnly, by: .known)
            defer { store.close() }
            if rebuildDigests { try store.rebuildDigests() }
            let bar = ProgressBar(isQuiet: quiet)
            defer { bar.clear() }
            let (role, count) = try store.replicaRead { replica in
                let count = try store.schema.entities.indices.reduce(0) { try $0 + replica.count(entity: $1) }
                return (try replica.information().role, count)
            }
            total = count
            var findings = try store.check { bar.show("checking", $0, count) }
            // A damaged file cannot be compared with its digests.
            if !findings.contains(where: { $0.severity == .damage }) { findings += try store.checkDigests() }
            bar.clear()
            StandardError.noteIfUnfinished(role)
            return (findings, total)
        } catch let error as HabitStoreError where error.isDamage && error.code == .corrupt {
            return ([StoreFinding(.damage, "unreadable", error.message, entity: error.location.entity)], total)
        }
    }

    private func json(_ finding: StoreFinding) -> JSONObject {
        [
            "severity": finding.severity.rawValue,
            "kind": finding.kind,
            "entity": finding.entity,
            "id": finding.id,
            "attribute": finding.attribute,
            "message": finding.message,
        ]
    }

    private func text(_ findings: [StoreFinding], _ total: Int?) -> String {
        guard let total else {
            // One sentence, which a narrow terminal must not cut: it may end with the command that helps.
            let what = findings.map { TerminalText.escaped(Passwords.redacted($0.message)) }.joined(separator: "\n")
            return "DAMAGED: the store cannot be read\n\n\(what)\n"
        }
        let damage = findings.filter { $0.severity == .damage }
        let unreadable = findings.filter { $0.severity == .unreadable }
        var text =
            if !damage.isEmpty {
                "DAMAGED: \(damage.count.counted("finding"))\n"
            } else if !unreadable.isEmpty {
                "UNREADABLE: \(unreadable.count) of \(total) records, by this version's models\n"
            } else {
                "sound: \(total.counted("record")) checked\n"
            }
        for (title, listed) in [("damage", damage), ("unreadable", unreadable)] where !listed.isEmpty {
            var table = TextTable([.init(title), .init("entity"), .init("id", canShrink: false), .init("what")])
            for finding in listed.prefix(100) {
                table.append([
                    finding.kind, finding.entity ?? "", finding.id.map { RecordReference.short($0) } ?? "",
                    finding.message,
                ])
            }
            text += "\n" + table.text(Terminal.options())
            if listed.count > 100 { text += "and \(listed.count - 100) more; --format json lists all\n" }
        }
        let anomalies = Dictionary(grouping: findings.filter { $0.severity == .anomaly }) {
            [$0.kind, $0.entity ?? "", $0.attribute ?? ""]
        }
        guard !anomalies.isEmpty else { return text }
        var table = TextTable([
            .init("anomaly"), .init("entity"), .init("attribute"), .init("count", alignment: .right),
            .init("example", canShrink: false),
        ])
        for (key, found) in anomalies.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
            table.append(key + [String(found.count), found.first?.id.map { RecordReference.short($0) } ?? ""])
        }
        return text + "\n" + table.text(Terminal.options())
    }
}

/// `habitstore copy A B`.
struct CopyCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "copy",
        abstract: "Copies the records and the history of store A to store B.",
        discussion: """
            Odd data in A is copied unchanged. A copy that was stopped continues where it ended; repeated on equal \
            stores it does nothing; newer or different data in B is never overwritten. Afterwards B is on standby.
            """
    )

    @OptionGroup var output: OutputOptions

    @Argument(help: "The source: \(Tool.storeForms), or a path.")
    var source: String

    @Argument(help: "The destination, created if it is missing: \(Tool.storeForms), or a path.")
    var destination: String

    @Flag(help: "Show no progress.")
    var quiet = false

    func run() async throws {
        let from = try StoreAddress(argument: source)
        let source = try from.openAsWritten(.readOnly, by: .known)
        defer { source.close() }
        let to = try StoreAddress(destination: destination)
        let destination = try to.open(.create, schema: source.schema, by: .known)
        defer { destination.close() }
        let bar = ProgressBar(isQuiet: quiet)
        defer { bar.clear() }
        let outcome = try Backfill(from: source, to: destination).run { bar.show("copying", $0.done, $0.total) }
        bar.clear()
        try output.write([
            "kind": outcome.kind.rawValue,
            "records": outcome.records,
            "transactions": outcome.transactions,
            "token": outcome.token.rawValue,
            "source": from.description,
            "destination": to.description,
        ]) { text(outcome) + "\n" }
    }

    private func text(_ outcome: Backfill.Outcome) -> String {
        let amount = "\(outcome.records.counted("record")) and \(outcome.transactions.counted("history transaction"))"
        switch outcome.kind {
        case .alreadyCurrent: return "nothing to do: both stores are at token \(outcome.token)"
        case .caughtUp: return "caught up \(amount); both stores are at token \(outcome.token)"
        case .copied: return "copied \(amount); both stores are at token \(outcome.token)"
        }
    }
}

extension Engines {
    /// All engines of the tool: those for users, and those for servers.
    package static var known: Engines { Tool.current.known }
}

/// Stores named on the command line, opened by the tool's engines.
extension StoreAddress {
    /// Parses an address: `sqlite:PATH`, `lmdb:PATH`, `postgres://SERVER#NAME`, or a path whose engine is recognised.
    ///
    /// A server's address may also have the scheme `postgresql`, as in libpq.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidValue`` for an address with a password; other errors of the address.
    package init(argument text: String) throws {
        if text.contains("://"), Passwords.isIn(text) { throw Passwords.refusal(of: text) }
        let scheme = text.prefix { $0 != ":" }.lowercased()
        let isURI = (scheme == "postgresql" || scheme == "postgres") && text.dropFirst(scheme.count).hasPrefix("://")
        self = try Engines.known.address(parsing: isURI ? "postgres" + text.dropFirst(scheme.count) : text)
    }

    package func open(
        _ access: StoreAccess,
        schema: Schema,
        by engines: Engines
    ) throws -> any UserStoreBackend {
        try engines.open(self, access, schema: schema)
    }

    /// Opens the store with the tool's schema, or otherwise with the one that it was written with.
    package func openAsWritten(_ access: StoreAccess, by engines: Engines) throws -> any UserStoreBackend {
        try engines.openAsWritten(self, access, schema: Tool.current.schema, plan: Tool.current.plan)
    }

    package func outline(by engines: Engines) throws -> StoreOutline { try engines.outline(self) }

    func storedSchema(by engines: Engines) throws -> StoredSchema {
        try engines.storedSchema(of: self, plan: Tool.current.plan)
    }
}

extension StoreAddress {
    /// Parses the address of a store that may not exist yet.
    ///
    /// - Throws: a usage error if nothing says which kind a new store should be.
    package init(destination text: String) throws {
        do {
            try self.init(argument: text)
        } catch let error as HabitStoreError where error.code == .notFound {
            throw CommandFailure.usage(
                "\(text): there is no store here to recognise the kind of; "
                    + "name the kind of the new one, as \(Tool.newStoreForms.joined(separator: " or "))"
            )
        }
    }

    /// Checks that an import may write to the store at this path.
    ///
    /// - Throws: ``HabitStoreError/Code/notAuthoritative`` in a user's folder, where even a store that the rollout has not opened yet belongs to the
    ///   user.
    package func requireOutsideOfUsers() throws {
        guard UserDirectory.isParent(ofFileAt: path) else { return }
        throw HabitStoreError(
            .notAuthoritative,
            "this path is in a user's folder, and an import to it would bypass the rollout; import for the user instead: "
                + "without --into, with --root and --user",
            at: .init(path: path)
        )
    }

    /// Opens the destination of an import, and creates it if there is none.
    ///
    /// - Parameter schema: the schema of a new store; nil to open an existing one with its own schema.
    /// - Throws: the errors of ``requireOutsideOfUsers()``, even for a rollout's store elsewhere; errors of the file.
    package func openForImport(schema: Schema?) throws -> any UserStoreBackend {
        try requireOutsideOfUsers()
        let store =
            try schema.map { try open(.create, schema: $0, by: .known) } ?? openAsWritten(.readWrite, by: .known)
        do {
            try store.replicaRead { try $0.information() }.requireImportable(path: path)
            return store
        } catch {
            store.close()
            throw error
        }
    }
}
