import Foundation
import HabitStore

/// A record that items refer to, with each delete rule.
struct Hub: PersistentModel {
    var id = UUID()

    var cascadingItems: [Item] { RelationshipScope.many(\Hub.cascadingItems, of: id) }
    var nullifiedItems: [Item] { RelationshipScope.many(\Hub.nullifiedItems, of: id) }
    var denyingItems: [Item] { RelationshipScope.many(\Hub.denyingItems, of: id) }
    var lingeringItems: [Item] { RelationshipScope.many(\Hub.lingeringItems, of: id) }
    var badges: [Badge] { RelationshipScope.many(\Hub.badges, of: id) }

    init() {}

    static let entity = EntityDescription(
        Hub.self,
        attributes: [
            .id(\Hub.id)
        ],
        relationships: [
            items("cascading", \.cascadingItems, .cascade), items("nullified", \.nullifiedItems, .nullify),
            items("denying", \.denyingItems, .deny), items("lingering", \.lingeringItems, .noAction),
            .toMany("badges", \Hub.badges, destination: "Badge", inverse: "hub", deleteRule: .nullify),
        ]
    )

    private static func items(
        _ word: String,
        _ keyPath: any KeyPath<Hub, [Item]> & Sendable,
        _ rule: DeleteRule
    ) -> RelationshipDescription {
        .toMany(word + "Items", keyPath, destination: "Item", inverse: word + "Hub", deleteRule: rule)
    }

    init(row: inout AttributeReader) throws {
        id = try row.nextUUID()
    }

    func write(to row: inout AttributeWriter) throws {
        row.append(id)
    }
}

/// A record with a reference to a hub for each of the hub's delete rules.
struct Item: PersistentModel {
    var id = UUID()
    var cascadingHubID: UUID?
    var nullifiedHubID: UUID?
    var denyingHubID: UUID?
    var lingeringHubID: UUID?

    var cascadingHub: Hub? { RelationshipScope.one(\Item.cascadingHub, cascadingHubID) }
    var nullifiedHub: Hub? { RelationshipScope.one(\Item.nullifiedHub, nullifiedHubID) }
    var denyingHub: Hub? { RelationshipScope.one(\Item.denyingHub, denyingHubID) }
    var lingeringHub: Hub? { RelationshipScope.one(\Item.lingeringHub, lingeringHubID) }

    init() {}

    static let entity = EntityDescription(
        Item.self,
        attributes: [
            .id(\Item.id),
            .attribute("cascadingHubID", \Item.cascadingHubID),
            .attribute("nullifiedHubID", \Item.nullifiedHubID),
            .attribute("denyingHubID", \Item.denyingHubID),
            .attribute("lingeringHubID", \Item.lingeringHubID),
        ],
        relationships: [
            hub("cascading", \.cascadingHub), hub("nullified", \.nullifiedHub), hub("denying", \.denyingHub),
            hub("lingering", \.lingeringHub),
        ]
    )

    private static func hub(
        _ word: String,
        _ keyPath: any KeyPath<Item, Hub?> & Sendable
    ) -> RelationshipDescription {
        .toOne(word + "Hub", keyPath, through: word + "HubID", destination: "Hub", inverse: word + "Items")
    }

    init(row: inout AttributeReader) throws {
        id = try row.nextUUID()
        cascadingHubID = try row.nextOptionalUUID()
        nullifiedHubID = try row.nextOptionalUUID()
        denyingHubID = try row.nextOptionalUUID()
        lingeringHubID = try row.nextOptionalUUID()
    }

    func write(to row: inout AttributeWriter) throws {
        row.append(id)
        row.append(cascadingHubID)
        row.append(nullifiedHubID)
        row.append(denyingHubID)
        row.append(lingeringHubID)
    }
}

/// A record with a required reference to a hub.
struct Badge: PersistentModel {
    var id = UUID()
    var hubID: UUID

    var hub: Hub? { RelationshipScope.one(\Badge.hub, hubID) }

    init(hubID: UUID) { self.hubID = hubID }

    static let entity = EntityDescription(
        Badge.self,
        attributes: [
            .id(\Badge.id),
            .attribute("hubID", \Badge.hubID),
        ],
        relationships: [
            .toOne("hub", \Badge.hub, through: "hubID", destination: "Hub", inverse: "badges")
        ]
    )

    init(row: inout AttributeReader) throws {
        id = try row.nextUUID()
        hubID = try row.nextUUID()
    }

    func write(to row: inout AttributeWriter) throws {
        row.append(id)
        row.append(hubID)
    }
}

/// A record that bouquets link to, with each delete rule.
struct Leaf: PersistentModel {
    var id = UUID()

    var cascadingBouquets: [Bouquet] { RelationshipScope.many(\Leaf.cascadingBouquets, of: id) }
    var nullifiedBouquets: [Bouquet] { RelationshipScope.many(\Leaf.nullifiedBouquets, of: id) }
    var denyingBouquets: [Bouquet] { RelationshipScope.many(\Leaf.denyingBouquets, of: id) }
    var lingeringBouquets: [Bouquet] { RelationshipScope.many(\Leaf.lingeringBouquets, of: id) }

    init() {}

    static let entity = EntityDescription(
        Leaf.self,
        attributes: [
            .id(\Leaf.id)
        ],
        relationships: [
            bouquets("cascading", \.cascadingBouquets, .cascade), bouquets("nullified", \.nullifiedBouquets, .nullify),
            bouquets("denying", \.denyingBouquets, .deny), bouquets("lingering", \.lingeringBouquets, .noAction),
        ]
    )

    private static func bouquets(
        _ word: String,
        _ keyPath: any KeyPath<Leaf, [Bouquet]> & Sendable,
        _ rule: DeleteRule
    ) -> RelationshipDescription {
        .manyToMany(word + "Bouquets", keyPath, destination: "Bouquet", inverse: word + "Leaves", deleteRule: rule)
    }

    init(row: inout AttributeReader) throws {
        id = try row.nextUUID()
    }

    func write(to row: inout AttributeWriter) throws {
        row.append(id)
    }
}

/// A record with links to leaves for each of the leaf's delete rules.
struct Bouquet: PersistentModel {
    var id = UUID()
    var cascadingLeafIDs: Set<UUID> = []
    var nullifiedLeafIDs: Set<UUID> = []
    var denyingLeafIDs: Set<UUID> = []
    var lingeringLeafIDs: Set<UUID> = []

    var cascadingLeaves: [Leaf] { RelationshipScope.linked(\Bouquet.cascadingLeaves, cascadingLeafIDs) }
    var nullifiedLeaves: [Leaf] { RelationshipScope.linked(\Bouquet.nullifiedLeaves, nullifiedLeafIDs) }
    var denyingLeaves: [Leaf] { RelationshipScope.linked(\Bouquet.denyingLeaves, denyingLeafIDs) }
    var lingeringLeaves: [Leaf] { RelationshipScope.linked(\Bouquet.lingeringLeaves, lingeringLeafIDs) }

    init() {}

    static let entity = EntityDescription(
        Bouquet.self,
        attributes: [
            .id(\Bouquet.id),
            .attribute("cascadingLeafIDs", \Bouquet.cascadingLeafIDs),
            .attribute("nullifiedLeafIDs", \Bouquet.nullifiedLeafIDs),
            .attribute("denyingLeafIDs", \Bouquet.denyingLeafIDs),
            .attribute("lingeringLeafIDs", \Bouquet.lingeringLeafIDs),
        ],
        relationships: [
            leaves("cascading", \.cascadingLeaves), leaves("nullified", \.nullifiedLeaves),
            leaves("denying", \.denyingLeaves), leaves("lingering", \.lingeringLeaves),
        ]
    )

    private static func leaves(
        _ word: String,
        _ keyPath: any KeyPath<Bouquet, [Leaf]> & Sendable
    ) -> RelationshipDescription {
        let (links, inverse) = (word + "LeafIDs", word + "Bouquets")
        return .manyToMany(word + "Leaves", keyPath, through: links, destination: "Leaf", inverse: inverse)
    }

    init(row: inout AttributeReader) throws {
        id = try row.nextUUID()
        cascadingLeafIDs = Set(try row.nextLinks())
        nullifiedLeafIDs = Set(try row.nextLinks())
        denyingLeafIDs = Set(try row.nextLinks())
        lingeringLeafIDs = Set(try row.nextLinks())
    }

    func write(to row: inout AttributeWriter) throws {
        row.append(id)
        row.append(cascadingLeafIDs)
        row.append(nullifiedLeafIDs)
        row.append(denyingLeafIDs)
        row.append(lingeringLeafIDs)
    }
}

/// A record with a reference and links to leaves for each delete rule on its side.
struct Wrapper: PersistentModel {
    var id = UUID()
    var cascadingLeafID: UUID?
    var nullifiedLeafID: UUID?
    var denyingLeafID: UUID?
    var lingeringLeafID: UUID?
    var cascadingLinkIDs: Set<UUID> = []
    var nullifiedLinkIDs: Set<UUID> = []
    var denyingLinkIDs: Set<UUID> = []
    var lingeringLinkIDs: Set<UUID> = []

    var cascadingLeaf: Leaf? { RelationshipScope.one(\Wrapper.cascadingLeaf, cascadingLeafID) }
    var nullifiedLeaf: Leaf? { RelationshipScope.one(\Wrapper.nullifiedLeaf, nullifiedLeafID) }
    var denyingLeaf: Leaf? { RelationshipScope.one(\Wrapper.denyingLeaf, denyingLeafID) }
    var lingeringLeaf: Leaf? { RelationshipScope.one(\Wrapper.lingeringLeaf, lingeringLeafID) }
    var cascadingLinks: [Leaf] { RelationshipScope.linked(\Wrapper.cascadingLinks, cascadingLinkIDs) }
    var nullifiedLinks: [Leaf] { RelationshipScope.linked(\Wrapper.nullifiedLinks, nullifiedLinkIDs) }
    var denyingLinks: [Leaf] { RelationshipScope.linked(\Wrapper.denyingLinks, denyingLinkIDs) }
    var lingeringLinks: [Leaf] { RelationshipScope.linked(\Wrapper.lingeringLinks, lingeringLinkIDs) }

    init() {}

    static let entity = EntityDescription(
        Wrapper.self,
        attributes: [
            .id(\Wrapper.id),
            .attribute("cascadingLeafID", \Wrapper.cascadingLeafID),
            .attribute("nullifiedLeafID", \Wrapper.nullifiedLeafID),
            .attribute("denyingLeafID", \Wrapper.denyingLeafID),
            .attribute("lingeringLeafID", \Wrapper.lingeringLeafID),
            .attribute("cascadingLinkIDs", \Wrapper.cascadingLinkIDs),
            .attribute("nullifiedLinkIDs", \Wrapper.nullifiedLinkIDs),
            .attribute("denyingLinkIDs", \Wrapper.denyingLinkIDs),
            .attribute("lingeringLinkIDs", \Wrapper.lingeringLinkIDs),
        ],
        relationships: [
            leaf("cascading", \.cascadingLeaf, .cascade), leaf("nullified", \.nullifiedLeaf, .nullify),
            leaf("denying", \.denyingLeaf, .deny), leaf("lingering", \.lingeringLeaf, .noAction),
            links("cascading", \.cascadingLinks, .cascade), links("nullified", \.nullifiedLinks, .nullify),
            links("denying", \.denyingLinks, .deny), links("lingering", \.lingeringLinks, .noAction),
        ]
    )

    private static func leaf(
        _ word: String,
        _ keyPath: any KeyPath<Wrapper, Leaf?> & Sendable,
        _ rule: DeleteRule
    ) -> RelationshipDescription {
        let reference = word + "LeafID"
        return .toOne(
            word + "Leaf",
            keyPath,
            through: reference,
            destination: "Leaf",
            inverse: nil,
            deleteRule: rule
        )
    }

    private static func links(
        _ word: String,
        _ keyPath: any KeyPath<Wrapper, [Leaf]> & Sendable,
        _ rule: DeleteRule
    ) -> RelationshipDescription {
        let links = word + "LinkIDs"
        return .manyToMany(
            word + "Links",
            keyPath,
            through: links,
            destination: "Leaf",
            inverse: nil,
            deleteRule: rule
        )
    }

    init(row: inout AttributeReader) throws {
        id = try row.nextUUID()
        cascadingLeafID = try row.nextOptionalUUID()
        nullifiedLeafID = try row.nextOptionalUUID()
        denyingLeafID = try row.nextOptionalUUID()
        lingeringLeafID = try row.nextOptionalUUID()
        cascadingLinkIDs = Set(try row.nextLinks())
        nullifiedLinkIDs = Set(try row.nextLinks())
        denyingLinkIDs = Set(try row.nextLinks())
        lingeringLinkIDs = Set(try row.nextLinks())
    }

    func write(to row: inout AttributeWriter) throws {
        row.append(id)
        row.append(cascadingLeafID)
        row.append(nullifiedLeafID)
        row.append(denyingLeafID)
        row.append(lingeringLeafID)
        row.append(cascadingLinkIDs)
        row.append(nullifiedLinkIDs)
        row.append(denyingLinkIDs)
        row.append(lingeringLinkIDs)
    }
}

/// A record whose parent is another folder; deleting it deletes its children.
struct Folder: PersistentModel {
    var id = UUID()
    var parentID: UUID?

    var parent: Folder? { RelationshipScope.one(\Folder.parent, parentID) }
    var children: [Folder] { RelationshipScope.many(\Folder.children, of: id) }

    init(parentID: UUID? = nil) { self.parentID = parentID }

    static let entity = EntityDescription(
        Folder.self,
        attributes: [
            .id(\Folder.id),
            .attribute("parentID", \Folder.parentID),
        ],
        relationships: [
            .toOne("parent", \Folder.parent, through: "parentID", destination: "Folder", inverse: "children"),
            .toMany("children", \Folder.children, destination: "Folder", inverse: "parent", deleteRule: .cascade),
        ]
    )

    init(row: inout AttributeReader) throws {
        id = try row.nextUUID()
        parentID = try row.nextOptionalUUID()
    }

    func write(to row: inout AttributeWriter) throws {
        row.append(id)
        row.append(parentID)
    }
}
