import Foundation
import HabitStore

/// One version's declarations about the same records.
protocol LMDBItemChoice: Sendable {
    static var name: String { get }
    static var indexes: [IndexDescription] { get }
}

extension LMDBItemChoice {
    static var name: String { "Item" }
    static var indexes: [IndexDescription] { [] }
}

enum LMDBItemRanks: LMDBItemChoice { static var indexes: [IndexDescription] { [IndexDescription("rank")] } }
enum LMDBItemClusteredRanks: LMDBItemChoice {
    static var indexes: [IndexDescription] { [IndexDescription("rank").clustering()] }
}
enum LMDBItemTitles: LMDBItemChoice { static var indexes: [IndexDescription] { [IndexDescription("title")] } }
enum LMDBItemNamedHistory: LMDBItemChoice { static var name: String { "history" } }
enum LMDBItemNamedMetadata: LMDBItemChoice { static var name: String { "metadata" } }
enum LMDBItemNamedLikeAnIndex: LMDBItemChoice { static var name: String { "Item.rank" } }

/// A record whose indexes differ between versions of the program.
struct LMDBItem<Choice: LMDBItemChoice>: PersistentModel {
    var id = UUID()
    var title = ""
    var rank = 0

    static var entity: EntityDescription {
        EntityDescription(
            LMDBItem.self,
            name: Choice.name,
            attributes: [
                .id(\LMDBItem.id), .attribute("title", \LMDBItem.title), .attribute("rank", \LMDBItem.rank),
            ],
            indexes: Choice.indexes
        )
    }

    static var schema: Schema { Schema([LMDBItem.self]) }
}

extension LMDBItem {
    init(row: inout AttributeReader) throws {
        id = try row.nextUUID()
        title = try row.nextString()
        rank = try row.nextInt()
    }

    func write(to row: inout AttributeWriter) throws {
        row.append(id)
        row.append(title)
        row.append(rank)
    }
}
