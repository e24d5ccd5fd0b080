import Testing

@testable import HabitStoreImport

/// A file of a hundred kilobytes named 3,000 entities, each inheriting from the one before: the members were searched again for each of them, and the
/// import took minutes.
struct EntityChainTests {
    private static let length = 1_000

    private func entity(_ number: Int, inheriting parent: Int?) -> CoreDataEntity {
        CoreDataEntity(
            name: "E\(number)",
            number: number,
            superentity: parent.map { "E\($0)" },
            root: "E0",
            isAbstract: false,
            className: nil,
            table: "ZE0",
            attributes: [],
            relationships: [],
            uniqueness: [],
            notStored: []
        )
    }

    private var chain: [CoreDataEntity] {
        (0..<Self.length).map { entity($0, inheriting: $0 == 0 ? nil : $0 - 1) }
    }

    @Test func theFamilyOfAnEntityIsWhatFollowsIt() {
        let model = CoreDataModel(origin: .tables, entities: chain)
        #expect(model.family(of: "E0").count == Self.length)
        #expect(model.family(of: "E999").map(\.name) == ["E999"])
        #expect(model.family(of: "E500").map(\.number) == Array(500..<Self.length))
        #expect(model.family(of: "nobody").isEmpty)
    }

    @Test func anEntityThatInheritsFromItselfEndsTheLook() {
        let model = CoreDataModel(
            origin: .tables,
            entities: [
                entity(0, inheriting: 2), entity(1, inheriting: 0), entity(2, inheriting: 1), entity(3, inheriting: 3),
            ]
        )
        #expect(model.family(of: "E1").map(\.number) == [0, 1, 2])
        #expect(model.family(of: "E3").map(\.number) == [3])
    }

    @Test func eachMemberHasTheFieldsOfThoseThatItInheritsFrom() {
        let members = chain
        let family = DerivedFamily(name: "E0", root: "E0", members: members)
        // The root's own fields: the identity, the entity's name and the key.
        #expect(members.allSatisfy { family.fields(of: $0).count == 3 })
        #expect(
            members.allSatisfy { !family.fields(of: $0).contains { if case .missing = $0 { true } else { false } } }
        )
    }
}
