import DurableFiles
import Foundation
import HabitStore

extension EvidenceLog {
    /// Moves the file aside, whatever it is, and begins a new chain with a line that says so.
    ///
    /// The numbers continue, so that a head of the old chain can never be taken for one of the new, and their archives have different names.
    ///
    /// - Parameter number: the last known record number, whether or not the file has it.
    /// - Returns: the new chain's head, and the name under which the old file is kept.
    /// - Throws: system errors; the old file then stays where it is.
    func reset(
        because reason: String,
        by person: String,
        behind number: Int,
        at time: Date
    ) throws -> (head: EvidenceHead, file: String?) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return try begin(reason, person, .nothing, number, time) }
        let name = freeName()
        guard status.st_mode & S_IFMT == S_IFREG else {
            do {
                try DurableFile.move(path, to: EvidenceFile.beside(path, name))
            } catch {
                throw EvidenceFile.error("cannot be put aside", error.number, path)
            }
            return try begin(reason, person, Before(head: .start, sizeBytes: 0, file: name), number, time)
        }
        let file = try EvidenceFile(path, .append)
        // Processes that wait for the lock then take the new file.
        defer { withExtendedLifetime(file) {} }
        let before = Before(head: try file.tail().head, sizeBytes: try file.size(), file: name)
        try file.keep(as: name)
        return try begin(reason, person, before, number, time)
    }

    /// The old file.
    private struct Before {
        let head: EvidenceHead
        let sizeBytes: Int
        let file: String?

        static let nothing = Before(head: .start, sizeBytes: 0, file: nil)
    }

    private func begin(
        _ reason: String,
        _ person: String,
        _ before: Before,
        _ number: Int,
        _ time: Date
    ) throws -> (head: EvidenceHead, file: String?) {
        let event = EvidenceEvent.reset(
            because: reason,
            by: person,
            sequence: before.head.sequence,
            hash: before.head.hash,
            sizeBytes: before.sizeBytes,
            file: before.file
        )
        // A damaged line may claim any number.
        let known = [before.head.sequence, number].filter { $0 < .max / 2 }.max() ?? 0
        let place = EvidenceHead(sequence: known, hash: EvidenceHead.start.hash)
        let line = try EvidenceLine.make(EvidenceLine.content(event, at: time), after: place, seal: seal)
        try EvidenceFile.replace(path, with: line.bytes)
        CrashPoint.reach("evidence.reset")
        return (line.head, before.file)
    }

    /// An unused name for a file that is moved aside.
    func freeName() -> String {
        var number = 1
        var status = stat()
        while lstat(EvidenceFile.beside(path, "evidence-reset-\(number).jsonl"), &status) == 0 { number += 1 }
        return "evidence-reset-\(number).jsonl"
    }
}
