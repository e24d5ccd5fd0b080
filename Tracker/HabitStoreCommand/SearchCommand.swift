import ArgumentParser
import Foundation
@_spi(Engines) import HabitStore
import HabitStoreOperator
import HabitTracker
import JSONText

/// `habitstore search TEXT`.
struct SearchCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "search",
        abstract: "Finds a text in habits, notes, tags and drafts; letter case and accents do not matter."
    )

    private struct Hit {
        let entity: String
        let id: UUID
        let attribute: String
        let text: String
    }

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var recording: RecordingOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The text.")
    var text: String

    func validate() throws {
        guard !text.isEmpty else { throw ValidationError("give a text to search for") }
    }

    func run() async throws {
        let tracker = try await Tracker.open(userOptions, recording)
        defer { tracker.close() }
        let hits = try tracker.read { transaction in
            var hits = try self.hits(transaction, "name", \Habit.name)
            hits += try self.hits(transaction, "category", \Habit.category)
            hits += try self.hits(transaction, "note", \Entry.note)
            hits += try self.hits(transaction, "name", \Tag.name)
            hits += try self.hits(transaction, "content", \Draft.content)
            return hits
        }
        let results = hits.map { hit in
            [
                "entity": hit.entity, "id": hit.id.uuidString,
                "attribute": hit.attribute, "text": hit.text,
            ] as JSONObject
        }
        try output.write(["results": results]) {
            var table = TextTable([
                .init("id", canShrink: false), .init("what", canShrink: false), .init("text", maximumWidth: 80),
            ])
            for hit in hits {
                table.append([RecordReference.short(hit.id), "\(hit.entity).\(hit.attribute)", hit.text])
            }
            return hits.isEmpty ? "nothing found\n" : table.text(Terminal.options())
        }
    }

    private func hits<M: PersistentModel>(
        _ transaction: any ReadTransaction,
        _ attribute: String,
        _ keyPath: KeyPath<M, String>
    ) throws -> [Hit] {
        try found(transaction, attribute).map { (model: M) in
            Hit(entity: M.entity.name, id: model.id, attribute: attribute, text: model[keyPath: keyPath])
        }
    }

    private func hits<M: PersistentModel>(
        _ transaction: any ReadTransaction,
        _ attribute: String,
        _ keyPath: KeyPath<M, String?>
    ) throws -> [Hit] {
        try found(transaction, attribute).compactMap { (model: M) in
            model[keyPath: keyPath].map {
                Hit(entity: M.entity.name, id: model.id, attribute: attribute, text: $0)
            }
        }
    }

    private func found<M: PersistentModel>(_ transaction: any ReadTransaction, _ attribute: String) throws -> [M] {
        let filter = FilterExpression.text(
            .searches,
            .attribute(AttributePath(attribute)),
            .literal(.string(text.normalizedToNFC()))
        )
        return try transaction.fetch(FetchDescriptor<M>(filter: filter))
    }
}
