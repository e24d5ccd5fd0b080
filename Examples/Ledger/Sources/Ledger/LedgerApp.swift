import Foundation
import HabitStore
import HabitStoreImport
import HabitStoreMapped
import HabitStoreRollout
import LedgerModel

/// Version 2 of the app: the same bookings, through HabitStore.
@main
enum LedgerApp {
    static func main() async {
        // Advice in messages is for the operator.
        OperatorCommand.name = "ledger-ops"
        do {
            try await run(Array(CommandLine.arguments.dropFirst()))
        } catch {
            FileHandle.standardError.write(Data("Ledger: \(error)\n".utf8))
            exit(1)
        }
    }

    private static func run(_ words: [String]) async throws {
        switch words.first {
        case "add" where words.count >= 4:
            guard let amount = Int(words[1]) else {
                throw HabitStoreError(.invalidValue, "\(words[1]) is not an amount in cents")
            }
            try await openLedger().write(author: "ledger") {
                try insert(amount, to: words[2], note: words[3], labels: Array(words.dropFirst(4)), $0)
            }
        case "list":
            for line in try await list() { print(line) }
        case "remove" where words.count == 2:
            let note = words[1]
            try await openLedger().write(author: "ledger") { transaction in
                try transaction.delete(Booking.self, where: #Predicate { $0.note == note })
            }
        case "write" where words.count == 2:
            try write(words[1])
        default:
            print("Ledger add CENTS ACCOUNT NOTE [LABEL…], Ledger list, or Ledger remove NOTE")
        }
    }

    private static func openLedger() throws -> UserStore {
        switch try Ledger.launch() {
        case .store(let store, _): return store
        case .oldFile(let record):
            // An app would run its old code here.
            let reason = record.reason?.message ?? "the last launch was killed"
            throw HabitStoreError(
                .busy,
                record.hasSeenFile
                    ? "version 1 continues with its file: \(reason)" : "there is no file of version 1 yet: \(reason)"
            )
        }
    }

    private static func insert(
        _ amount: Int,
        to name: String,
        note: String,
        labels: [String],
        _ transaction: any WriteTransaction
    ) throws {
        let named = FetchDescriptor<Account>(predicate: #Predicate { $0.name == name })
        let account = try transaction.fetch(named).first ?? Account(name: name)
        try transaction.save(account)
        // GRDB stores milliseconds.
        let now = MappedSQLiteStore.rounded(.now, toPlaces: 3)
        var booking = Booking(date: now, amount: amount, note: note, accountID: account.id)
        for name in labels {
            let named = FetchDescriptor<Label>(predicate: #Predicate { $0.name == name })
            let label = try transaction.fetch(named).first ?? Label(name: name)
            try transaction.save(label)
            booking.labelIDs.insert(label.id)
        }
        try transaction.save(booking)
    }

    private static func list() async throws -> [String] {
        let byDate = FetchDescriptor<Booking>(sortBy: [SortDescriptor(\.date), SortDescriptor(\.note)])
        return try await openLedger().read { transaction in
            try transaction.fetch(byDate).map { booking in
                let account = try transaction.model(Account.self, id: booking.accountID)
                return "\(booking.amount) \(account?.name ?? "?"): \(booking.note ?? "")"
            }
        }
    }

    /// Books without end, for tests: it says which bookings are on disk, and which were refused.
    private static func write(_ prefix: String) throws {
        let store = try openLedger()
        for number in 1... {
            let note = "\(prefix) \(number)"
            do {
                try store.write(author: "ledger") { transaction in
                    let labels = number.isMultiple(of: 3) ? ["third"] : []
                    try insert(number, to: "Tests", note: note, labels: labels, transaction)
                }
                print("written \(note)")
            } catch let error as HabitStoreError {
                print("refused \(note): \(error)")
            }
            fflush(nil)
            Thread.sleep(forTimeInterval: 0.005)
        }
    }
}
