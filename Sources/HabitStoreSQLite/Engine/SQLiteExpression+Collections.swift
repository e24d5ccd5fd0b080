@_spi(Engines) import HabitStore

extension SQLiteExpression {
    /// Whether any of the related records meets a condition.
    mutating func some(_ collection: BoundCollection, _ inner: BoundExpression, _ use: Use) -> Condition? {
        if let joined = attempt({ $0.ownersJoin(collection, inner, use) }) { return joined }
        return members(collection, inner, use.forWhere, isNegated: false)
            .map { Condition(sql: "EXISTS (SELECT 1 \($0.sql))", isExact: $0.isExact) }
    }

    /// Whether all related records meet a condition: whether none fails it.
    mutating func every(_ collection: BoundCollection, _ inner: BoundExpression, _ use: Use) -> Condition? {
        let use = Use(allowsSuperset: use.allowsSuperset, nullIsFalse: false)
        return members(collection, inner, use, isNegated: true)
            .map { Condition(sql: "NOT EXISTS (SELECT 1 \($0.sql))", isExact: $0.isExact) }
    }

    /// `FROM` and `WHERE` of the related records that meet a condition, or that fail it.
    ///
    /// The join with the records drops links to missing ones.
    mutating func members(
        _ collection: BoundCollection,
        _ inner: BoundExpression,
        _ use: Use,
        isNegated: Bool
    ) -> Condition? {
        guard let owner = nested(collection.path.hops.isEmpty ? 0 : 9, { $0.column(collection.path, 0) }) else {
            return nil
        }
        let member = Record(table: tables[collection.destination], alias: newAlias())
        let table = "\(member.table.name) AS \(member.alias)"
        let visit = visit(.related, member.alias)
        var source: String
        switch collection.storage {
        case .referring(let attribute):
            source = "FROM \(table) WHERE \(visit)\(member.alias).\(member.table.columns[attribute]) = \(owner)"
        case .linked(let attribute):
            guard let links = linkTable(collection.path, attribute) else { return nil }
            let link = newAlias()
            source =
                "FROM \(links.name) AS \(link) JOIN \(table) ON \(member.alias).\"id\" = \(link).target "
                + "WHERE \(visit)\(link).owner = \(owner)"
        case .linking(let attribute):
            guard let links = member.table.links[attribute] else { return nil }
            let link = newAlias()
            source =
                "FROM \(links.name) AS \(link) JOIN \(table) ON \(member.alias).\"id\" = \(link).owner "
                + "WHERE \(visit)\(link).target = \(owner)"
        }
        if inner.isAlwaysTrue, !isNegated { return Condition(sql: source, isExact: true) }
        correlation += 1
        defer { correlation -= 1 }
        let condition = bound(collection.variable, to: member) { writer in
            writer.attempt { $0.condition(inner, use) }
        }
        if let condition {
            source += isNegated ? " AND NOT (\(condition.sql))" : " AND \(condition.sql)"
            return Condition(sql: source, isExact: condition.isExact)
        }
        // A record can only meet the condition if it exists; that superset is what is left.
        guard use.allowsSuperset, !isNegated else { return nil }
        return Condition(sql: source, isExact: false)
    }
}
