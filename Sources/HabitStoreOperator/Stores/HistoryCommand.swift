import ArgumentParser
import Foundation
@_spi(Engines) import HabitStore
import HabitStoreRollout
import JSONText

/// `habitstore history A`.
struct HistoryCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "history",
        abstract: "Lists a store's changes, oldest first."
    )

    @OptionGroup var output: OutputOptions

    @Argument(help: "The store: \(Tool.storeForms), or a path.")
    var store: String

    @Option(
        parsing: .unconditional,
        help: "Only transactions after this token. [default: the start of the kept history]"
    )
    var after: Int64?

    @Option(parsing: .unconditional, help: "The maximum number of transactions.")
    var limit: Int?

    @Flag(help: "Continue with new transactions until stopped; in JSON, one line for each transaction.")
    var follow = false

    var isFollowing: Bool { follow }

    func validate() throws {
        guard !follow || limit == nil else {
            throw ValidationError("--follow has no end, and --limit sets one; give one of them")
        }
        if let after, after < 0 { throw ValidationError("--after must be 0 or more") }
        if let limit, limit < 0 { throw ValidationError("--limit must be 0 or more") }
    }

    func run() async throws {
        if follow { return try await goOn() }
        let (information, transactions) = try history()
        try output.write([
            "token": information.token.rawValue,
            "historyFloor": information.historyFloor.rawValue,
            "transactions": transactions.map(\.json),
        ]) { text(transactions) }
    }

    private func goOn() async throws {
        let store = try StoreAddress(argument: store).openAsWritten(.readOnly, by: .known)
        defer { store.close() }
        try await FollowedOutput.each(of: store.changes(after: try beginning(of: store))) { transaction in
            switch output.format {
            case .json: try JSON.writeLine(transaction.json)
            case .text: try Output.write(text([transaction], hasHead: false))
            }
        }
    }

    private func beginning(of store: any UserStoreBackend) throws -> HistoryToken {
        let information = try store.information()
        guard let after else { return information.historyFloor }
        let token = HistoryToken(rawValue: after)
        guard token <= information.token else {
            throw CommandFailure.usage(
                "--after is \(token), but the store's last token is \(information.token); start there or earlier"
            )
        }
        return token
    }

    private func history() throws -> (StoreInformation, [HistoryTransaction]) {
        let store = try StoreAddress(argument: store).openAsWritten(.readOnly, by: .known)
        defer { store.close() }
        return try store.read { transaction in
            let information = try transaction.information()
            let token = after.map { HistoryToken(rawValue: $0) } ?? information.historyFloor
            return (information, try transaction.fetchHistory(after: token, limit: limit))
        }
    }

    /// - Parameter hasHead: whether to print column names.
    private func text(_ transactions: [HistoryTransaction], hasHead: Bool = true) -> String {
        guard !transactions.isEmpty else { return "no changes\n" }
        func column(_ name: String, _ alignment: TerminalText.Alignment = .left, canShrink: Bool = false)
            -> TextTable.Column
        {
            .init(hasHead ? name : "", alignment: alignment, canShrink: canShrink)
        }
        var table = TextTable([
            column("token", .right), column("time"), column("author", canShrink: true), column("change"),
            column("entity"),
            column("id"), column("attributes", canShrink: true),
        ])
        for transaction in transactions {
            let head = [
                transaction.token.description, ISODate.instant(transaction.timestamp), transaction.author ?? "",
            ]
            if transaction.changes.isEmpty { table.append(head) }
            for (index, change) in transaction.changes.enumerated() {
                let (kind, attributes) = words(change.kind)
                let id = change.id.uuidString.lowercased()
                table.append((index == 0 ? head : ["", "", ""]) + [kind, change.entity, id, attributes])
            }
        }
        return table.text(Terminal.options())
    }

    private func words(_ kind: HistoryChange.Kind) -> (String, String) {
        switch kind {
        case .insert: return ("insert", "")
        case .update(let attributes): return ("update", attributes.joined(separator: ", "))
        case .delete: return ("delete", "")
        }
    }
}

extension HistoryTransaction {
    /// A transaction of the history as JSON.
    package var json: JSONObject {
        var members = head
        members["changes"] = changes.map(\.json)
        return members
    }

    /// The transaction without its changes, of which there may be many.
    package var head: JSONObject {
        var members: JSONObject = ["token": token.rawValue, "author": author]
        members.set("timestamp", timestamp)
        return members
    }
}

extension HistoryChange {
    /// A change in a transaction as JSON.
    package var json: JSONObject {
        var members: JSONObject = ["entity": entity, "id": id.uuidString]
        switch kind {
        case .insert: members["kind"] = "insert"
        case .update(let attributes):
            members["kind"] = "update"
            members["updatedAttributes"] = attributes
        case .delete(let tombstone):
            members["kind"] = "delete"
            var values: JSONObject = [:]
            for (name, value) in tombstone { values.set(name, value) }
            members["tombstone"] = values
        }
        return members
    }
}
