import HabitStore

extension TableModelBuilder {
    func guessTables(_ model: inout CoreDataModel) {
        for (table, columns) in tables.columns.sorted(by: { $0.key < $1.key }) where table.hasPrefix("Z_") {
            let sides = columns.map(\.name).filter { !$0.hasPrefix("Z_FOK_") }.map { ($0, Self.split($0)) }
            guard sides.count == 2, let left = sides[0].1, let right = sides[1].1,
                let first = model.entity(number: left.number), let second = model.entity(number: right.number)
            else { continue }
            // The column that leads to an entity is named after the relationship that leads there.
            var there = Self.toMany(right.name, second.name, left.name, first.name)
            there.storage = .table(table, here: sides[0].0, there: sides[1].0)
            there.orderColumn = columns.map(\.name).first { $0 == "Z_FOK_\(sides[1].0.dropFirst(2))" }
            add(relationship: there, declaredIn: first.name, &model)
            var back = Self.toMany(left.name, first.name, right.name, second.name)
            back.storage = .table(table, here: sides[1].0, there: sides[0].0)
            back.orderColumn = columns.map(\.name).first { $0 == "Z_FOK_\(sides[0].0.dropFirst(2))" }
            add(relationship: back, declaredIn: second.name, &model)
        }
    }

    /// Splits a column name: `Z_13TAGS` is entity 13 and `tags`.
    static func split(_ column: String) -> (number: Int, name: String)? {
        guard column.hasPrefix("Z_") else { return nil }
        let digits = column.dropFirst(2).prefix { $0.isASCII && $0.isNumber }
        let name = column.dropFirst(2 + digits.count)
        guard let number = Int(digits), !name.isEmpty else { return nil }
        return (number, name.lowercased())
    }

    static func toMany(
        _ name: String,
        _ destination: String,
        _ inverse: String?,
        _ owner: String
    ) -> CoreDataRelationship {
        CoreDataRelationship(
            name: name,
            destination: destination,
            inverse: inverse,
            isToMany: true,
            isOrdered: false,
            isOptional: true,
            deleteRule: "nullify",
            declaredIn: owner,
            isGuessed: true
        )
    }

    func add(_ attribute: CoreDataAttribute, _ model: inout CoreDataModel) {
        let names = Set(model.family(of: attribute.declaredIn).map(\.name))
        for position in model.entities.indices where names.contains(model.entities[position].name) {
            model.entities[position].attributes.append(attribute)
        }
    }

    func add(relationship: CoreDataRelationship, declaredIn owner: String, _ model: inout CoreDataModel) {
        let names = Set(model.family(of: owner).map(\.name))
        for position in model.entities.indices where names.contains(model.entities[position].name) {
            guard model.entities[position].relationship(relationship.name) == nil else { continue }
            model.entities[position].relationships.append(relationship)
        }
    }
}
