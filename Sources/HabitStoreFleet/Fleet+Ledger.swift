import Foundation
import HabitStore

extension Fleet {
    /// The ledger, held against how far the index knows it to have come: lines that were cut off are damage as well.
    ///
    /// - Throws: ``HabitStoreError/Code/inputOutput`` where it cannot be read.
    public func readLedger() throws -> FleetLedger.Contents { try readLedger(by: try? FleetIndex.open(folder)) }

    /// - Parameter index: nil where there is none that can be read, and nothing is known by it.
    func readLedger(by index: FleetIndex?) throws -> FleetLedger.Contents {
        var contents = try ledger.read()
        guard contents.damagedLine == nil else { return contents }
        if let head = try index?.word(FleetIndex.head), !contents.heads.contains(head) {
            let number = head.split(separator: " ").first.flatMap { Int($0) } ?? 1
            contents.damagedLine = min(number, contents.entries.count + 1)
        } else if contents.entries.isEmpty, FileManager.default.fileExists(atPath: folder.members) {
            // Whoever draws waves writes a line first.
            contents.damagedLine = 1
        }
        return contents
    }

    /// The ledger as ``readLedger()`` gives it.
    ///
    /// - Throws: ``HabitStoreError/Code/corrupt`` for one that is not whole.
    func wholeLedger(by index: FleetIndex?) throws -> FleetLedger.Contents {
        let contents = try readLedger(by: index)
        guard let line = contents.damagedLine else { return contents }
        throw HabitStoreError(
            .corrupt,
            "the fleet's ledger is damaged in line \(line), or lacks lines from there on, and nobody is moved by it; put the file back",
            at: .init(path: ledger.path)
        )
    }
}
