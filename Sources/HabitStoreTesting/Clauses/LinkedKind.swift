import Foundation
@_spi(Engines) import HabitStore

/// A relationship of the kit: its holder, its target and how it is stored.
struct LinkedKind: Sendable {
    let name: String
    let holder: String
    let target: String
    /// The attribute that stores the relationship.
    let attribute: String
    let rules: LinkOracle.Rules
    let makeHolder: @Sendable (UUID, Set<UUID>) -> any PersistentModel
    let makeTarget: @Sendable (UUID) -> any PersistentModel

    /// Every relationship of the kit's schema that stores its references.
    static let all: [LinkedKind] = items + bouquets + wrappers + [badge, folder]

    private static let items: [LinkedKind] = [
        item("cascading", .cascade, \.cascadingHubID), item("nullified", .nullify, \.nullifiedHubID),
        item("denying", .deny, \.denyingHubID), item("lingering", .noAction, \.lingeringHubID),
    ]

    private static func item(
        _ name: String,
        _ rule: LinkOracle.Rule,
        _ reference: any WritableKeyPath<Item, UUID?> & Sendable
    ) -> LinkedKind {
        kind(name, "HubID", "Hub", .init(ofHolders: rule), Item.init, one: reference, makeHub)
    }

    private static let bouquets: [LinkedKind] = [
        bouquet("cascading", .cascade, \.cascadingLeafIDs), bouquet("nullified", .nullify, \.nullifiedLeafIDs),
        bouquet("denying", .deny, \.denyingLeafIDs), bouquet("lingering", .noAction, \.lingeringLeafIDs),
    ]

    private static func bouquet(
        _ name: String,
        _ rule: LinkOracle.Rule,
        _ links: any WritableKeyPath<Bouquet, Set<UUID>> & Sendable
    ) -> LinkedKind {
        kind(name, "LeafIDs", "Leaf", .init(ofHolders: rule, isToOne: false), Bouquet.init, many: links, makeLeaf)
    }

    private static let wrappers: [LinkedKind] = [
        wrapper("cascading", .cascade, \.cascadingLeafID), wrapper("nullified", .nullify, \.nullifiedLeafID),
        wrapper("denying", .deny, \.denyingLeafID), wrapper("lingering", .noAction, \.lingeringLeafID),
        linkWrapper("cascading", .cascade, \.cascadingLinkIDs), linkWrapper("nullified", .nullify, \.nullifiedLinkIDs),
        linkWrapper("denying", .deny, \.denyingLinkIDs), linkWrapper("lingering", .noAction, \.lingeringLinkIDs),
    ]

    private static func wrapper(
        _ name: String,
        _ rule: LinkOracle.Rule,
        _ reference: any WritableKeyPath<Wrapper, UUID?> & Sendable
    ) -> LinkedKind {
        kind(name, "LeafID", "Leaf", .init(ofTargets: rule), Wrapper.init, one: reference, makeLeaf)
    }

    private static func linkWrapper(
        _ name: String,
        _ rule: LinkOracle.Rule,
        _ links: any WritableKeyPath<Wrapper, Set<UUID>> & Sendable
    ) -> LinkedKind {
        kind(name, "LinkIDs", "Leaf", .init(ofTargets: rule, isToOne: false), Wrapper.init, many: links, makeLeaf)
    }

    private static let badge = LinkedKind(
        name: "Badge.hubID",
        holder: "Badge",
        target: "Hub",
        attribute: "hubID",
        rules: .init(ofHolders: .nullify, isRequired: true),
        makeHolder: { id, links in
            var badge = Badge(hubID: links.first ?? id)
            badge.id = id
            return badge
        },
        makeTarget: makeHub
    )

    private static let folder = LinkedKind(
        name: "Folder.parentID",
        holder: "Folder",
        target: "Folder",
        attribute: "parentID",
        rules: .init(ofHolders: .cascade),
        makeHolder: { id, links in
            var folder = Folder(parentID: links.first)
            folder.id = id
            return folder
        },
        makeTarget: { id in
            var folder = Folder()
            folder.id = id
            return folder
        }
    )

    private static let makeHub: @Sendable (UUID) -> any PersistentModel = { id in
        var hub = Hub()
        hub.id = id
        return hub
    }

    private static let makeLeaf: @Sendable (UUID) -> any PersistentModel = { id in
        var leaf = Leaf()
        leaf.id = id
        return leaf
    }

    private static func kind<M: IdentifiedModel>(
        _ name: String,
        _ suffix: String,
        _ target: String,
        _ rules: LinkOracle.Rules,
        _ make: @escaping @Sendable () -> M,
        one reference: any WritableKeyPath<M, UUID?> & Sendable,
        _ makeTarget: @escaping @Sendable (UUID) -> any PersistentModel
    ) -> LinkedKind {
        LinkedKind(
            name: "\(M.entity.name).\(name)\(suffix)",
            holder: M.entity.name,
            target: target,
            attribute: name + suffix,
            rules: rules,
            makeHolder: { id, links in
                var model = make()
                model.id = id
                model[keyPath: reference] = links.first
                return model
            },
            makeTarget: makeTarget
        )
    }

    private static func kind<M: IdentifiedModel>(
        _ name: String,
        _ suffix: String,
        _ target: String,
        _ rules: LinkOracle.Rules,
        _ make: @escaping @Sendable () -> M,
        many links: any WritableKeyPath<M, Set<UUID>> & Sendable,
        _ makeTarget: @escaping @Sendable (UUID) -> any PersistentModel
    ) -> LinkedKind {
        LinkedKind(
            name: "\(M.entity.name).\(name)\(suffix)",
            holder: M.entity.name,
            target: target,
            attribute: name + suffix,
            rules: rules,
            makeHolder: { id, targets in
                var model = make()
                model.id = id
                model[keyPath: links] = targets
                return model
            },
            makeTarget: makeTarget
        )
    }
}

/// A model with a settable identifier.
private protocol IdentifiedModel: PersistentModel {
    var id: UUID { get set }
}

extension Item: IdentifiedModel {}
extension Bouquet: IdentifiedModel {}
extension Wrapper: IdentifiedModel {}
