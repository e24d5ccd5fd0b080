import Foundation
import HabitStore

extension Fleet {
    /// The ledger, checked against the head in the index: a truncated ledger is damaged, too.
    ///
    /// - Throws: ``HabitStoreError/Code/inputOutput`` if it cannot be read.
    public func readLedger() throws -> FleetLedger.Contents { try readLedger(by: try? FleetIndex.open(folder)) }

    /// - Parameter index: nil if no index can be read, and nothing is checked against it.
    func readLedger(by index: FleetIndex?) throws -> FleetLedger.Contents {
        var contents = try ledger.read()
        guard contents.damagedLine == nil else { return contents }
        if let head = try index?.word(FleetIndex.head), !contents.heads.contains(head) {
            let number = head.split(separator: " ").first.flatMap { Int($0) } ?? 1
            contents.damagedLine = min(number, contents.entries.count + 1)
        } else if contents.entries.isEmpty, FileManager.default.fileExists(atPath: folder.members) {
            // Drawing waves writes a line before anything else.
            contents.damagedLine = 1
        }
        return contents
    }

    /// The ledger from ``readLedger()``, if it is whole.
    ///
    /// - Throws: ``HabitStoreError/Code/corrupt`` if it is damaged or truncated.
    func wholeLedger(by index: FleetIndex?) throws -> FleetLedger.Contents {
        let contents = try readLedger(by: index)
        guard let line = contents.damagedLine else { return contents }
        throw HabitStoreError(
            .corrupt,
            "the fleet's ledger is damaged in line \(line), or lacks lines from there on, so no user is moved; put the file back",
            at: .init(path: ledger.path)
        )
    }
}
