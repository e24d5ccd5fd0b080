import Foundation
@_spi(Engines) import HabitStore
import HabitTracker

extension StoreContract {
    static let relationshipClauses: [Clause] = [
        Clause("to-one and to-many relationships are followed inside a transaction") { bench in
            let store = try bench.habits()
            let habit = Habit(name: "Run")
            let entries = (0..<3).map { Entry(note: "\($0)", habitID: habit.id) }.sorted { $0.id.isBefore($1.id) }
            let loose = Entry(habitID: nil)
            try store.write { transaction in
                try transaction.insert(habit)
                try (entries + [loose]).forEach(transaction.insert)
                try expectEqual(habit.entries, entries, "the entries inside of the writing transaction")
            }
            try store.read { moment in
                try expectEqual(habit.entries, entries, "the entries, by identifier")
                try expectEqual(moment.related(\Habit.entries, of: habit), entries, "the entries")
                try expectEqual(moment.related(\Entry.habit, of: entries[0]), habit, "the habit")
                try expectEqual(loose.habit, nil, "the habit of an entry without one")
                try expectEqual(Habit(name: "never stored").entries, [], "the entries of an unknown habit")
            }
        },
        Clause("many-to-many relationships can be followed from both sides") { bench in
            let store = try bench.habits()
            let tags = ["a", "b", "c"].map { Tag(name: $0) }.sorted { $0.id.isBefore($1.id) }
            let one = Habit(name: "one", tagIDs: Set(tags.prefix(2).map(\.id)))
            let two = Habit(name: "two", tagIDs: [tags[1].id])
            try store.insertAll([one, two] + tags)
            try store.read { moment in
                try expectEqual(moment.related(\Habit.tags, of: one), Array(tags.prefix(2)), "the tags")
                let both = [one, two].sorted { $0.id.isBefore($1.id) }
                try expectEqual(moment.related(\Tag.habits, of: tags[1]), both, "the habits")
                try expectEqual(tags[0].habits, [one], "the habits")
                try expectEqual(tags[2].habits, [], "the habits of a tag that is not used")
            }
        },
        Clause("a condition over relationships can be evaluated for one model in a transaction") { bench in
            let store = try bench.habits()
            let habit = Habit(name: "Run", streak: 3)
            let stored = Entry(note: "a", habitID: habit.id)
            try store.insertAll([habit, stored])
            // A record that is not stored can be asked the same way.
            let (fresh, loose) = (Entry(note: "b", habitID: habit.id), Entry(note: "c", habitID: nil))
            let named = #Predicate<Entry> { $0.habit?.name == "Run" }
            let rising = try Filter<Habit>(text: "ANY entries { note == 'a' } AND streak > 2")
            let ratio = try Filter<Habit>(text: "10 / (streak - 3) > 1")
            try store.read { moment in
                try expectEqual(try moment.matches(stored, named), true, "a stored entry")
                try expectEqual(try moment.matches(fresh, named), true, "an entry that is not stored")
                try expectEqual(try moment.matches(loose, named), false, "an entry without a habit")
                try expectEqual(try moment.matches(habit, rising), true, "a habit by a filter")
                try expectEqual(try moment.matches(Habit(name: "new", streak: 9), rising), false, "a new habit")
                try expectError(.evaluationFailed) { try moment.matches(habit, ratio) }
            }
        },
        Clause("a record can refer to its own entity") { bench in
            let store = try bench.contract()
            var folder = Folder()
            folder.parentID = folder.id
            try store.save(folder)
            try store.read { _ in
                try expectEqual(folder.parent, folder, "the parent")
                try expectEqual(folder.children, [folder], "the children")
            }
            let own = try store.fetchIdentifiers(
                FetchDescriptor(
                    predicate: #Predicate<Folder> { folder in
                        folder.children.contains { $0.id == folder.id }
                    }
                )
            )
            try expectEqual(own, [folder.id], "the folders that contain themselves")
        },
        Clause("a dangling reference leads to nil, and a dangling link to nothing") { bench in
            let store = try bench.contract()
            let (hub, leaf, kept) = (Hub(), Leaf(), Leaf())
            var item = Item()
            item.lingeringHubID = hub.id
            var bouquet = Bouquet()
            bouquet.lingeringLeafIDs = [leaf.id, kept.id]
            try store.insertAll([hub, leaf, kept, item, bouquet])
            try store.delete(hub)
            try store.delete(leaf)
            try store.read { moment in
                try expectEqual(try moment.model(Item.self, id: item.id), item, "the record with a dangling reference")
                try expectEqual(item.lingeringHub, nil, "the hub")
                try expectEqual(bouquet.lingeringLeaves, [kept], "the leaves")
                let without = FetchDescriptor(predicate: #Predicate<Item> { $0.lingeringHub == nil })
                try expectEqual(try moment.fetchCount(without), 1, "the number of records with a dangling reference")
                let counted = FetchDescriptor(predicate: #Predicate<Bouquet> { $0.lingeringLeaves.count == 1 })
                try expectEqual(try moment.fetchCount(counted), 1, "the number of records with one leaf")
            }
        },
    ]

    static let referenceClauses: [Clause] = [
        Clause("a dangling reference is refused when the transaction ends") { bench in
            let store = try bench.habits()
            let entry = Entry(habitID: UUID())
            try expectError(.danglingReference, entity: "Entry", attribute: "habit", id: entry.id) {
                try store.save(entry)
            }
            let habit = Habit(name: "x", tagIDs: [UUID()])
            try expectError(.danglingReference, entity: "Habit", attribute: "tags", id: habit.id) {
                try store.insert([habit])
            }
            try expectEqual(try store.currentToken(), .zero, "the token")
            try expectEqual(try store.all(Entry.self), [], "the entries")
        },
        Clause("within a transaction, records can be stored in any order") { bench in
            let store = try bench.habits()
            let tag = Tag(name: "t")
            let habit = Habit(name: "h", tagIDs: [tag.id])
            try store.write { transaction in
                try transaction.insert(Entry(habitID: habit.id))
                try transaction.insert(habit)
                try transaction.insert(tag)
            }
            try expectEqual(try store.fetchCount(FetchDescriptor<Entry>()), 1, "the number of entries")
        },
        Clause("a reference may dangle while the transaction runs") { bench in
            let store = try bench.habits()
            try store.write { transaction in
                var entry = Entry(habitID: UUID())
                try transaction.insert(entry)
                entry.habitID = nil
                try transaction.save(entry)
                let gone = Entry(habitID: UUID())
                try transaction.insert(gone)
                try transaction.delete(gone)
            }
            try expectEqual(try store.all(Entry.self).map(\.habitID), [nil], "the references")
        },
        Clause("deleting the target of a new reference is refused") { bench in
            let store = try bench.contract()
            let hub = Hub()
            try store.save(hub)
            var item = Item()
            item.lingeringHubID = hub.id
            let stored = item
            try expectError(.danglingReference, entity: "Item", attribute: "lingeringHub", id: item.id) {
                try store.write { transaction in
                    try transaction.insert(stored)
                    try transaction.delete(hub)
                }
            }
            try expectEqual(try store.fetchCount(FetchDescriptor<Hub>()), 1, "the number of hubs")
        },
        Clause("an old record with a dangling reference can be saved if the reference is unchanged") { bench in
            let store = try bench.contract()
            let hub = Hub()
            var item = Item()
            item.lingeringHubID = hub.id
            try store.insertAll([hub, item])
            try store.delete(hub)
            let other = Hub()
            item.nullifiedHubID = other.id
            let changed = item
            try store.write { transaction in
                try transaction.insert(other)
                try transaction.save(changed)
                // An undone change is not a change either, and another record's reference does not count once it is removed again.
                var away = changed
                away.lingeringHubID = nil
                try transaction.save(away)
                try transaction.save(changed)
                var tried = Item()
                tried.lingeringHubID = hub.id
                try transaction.insert(tried)
                tried.lingeringHubID = nil
                try transaction.save(tried)
            }
            try expectEqual(try store.model(Item.self, id: item.id), changed, "the record")
            item.denyingHubID = hub.id
            let refused = item
            try expectError(.danglingReference, entity: "Item", attribute: "denyingHub", id: item.id) {
                try store.save(refused)
            }
        },
    ]
}

extension StoreContract {
    static let deleteRuleClauses: [Clause] = [
        Clause("cascade also deletes the records that refer to the deleted one, transitively") { bench in
            let store = try bench.contract()
            let root = Folder()
            let children = (0..<3).map { _ in Folder(parentID: root.id) }
            let grandchildren = children.map { Folder(parentID: $0.id) }
            let other = Folder()
            try store.insert([root, other] + children + grandchildren)
            try expect(try store.delete(root), "the root was there")
            try expectEqual(try store.all(Folder.self), [other], "the folders that are left")
        },
        Clause("a cascade through a cycle terminates") { bench in
            let store = try bench.contract()
            var folders = (0..<4).map { _ in Folder() }
            for index in folders.indices { folders[index].parentID = folders[(index + 1) % 4].id }
            var own = Folder()
            own.parentID = own.id
            try store.insert(folders + [own])
            try store.delete(folders[2])
            try expectEqual(try store.all(Folder.self), [own], "the folders that are left")
            try store.delete(own)
            try expectEqual(try store.all(Folder.self), [], "the folders that are left")
        },
        Clause("deleting a to-one record cascades, nullifies or ignores references") { bench in
            let store = try bench.contract()
            let hub = Hub()
            var items = (0..<3).map { _ in Item() }
            items[0].cascadingHubID = hub.id
            items[1].nullifiedHubID = hub.id
            items[2].lingeringHubID = hub.id
            try store.insertAll([hub] + items)
            try store.delete(hub)
            items[1].nullifiedHubID = nil
            let left = items.dropFirst().sorted { $0.id.isBefore($1.id) }
            try expectEqual(try store.all(Item.self), left, "the records that are left")
        },
        Clause("deny refuses a deletion, which then has no effect", deniesWhole),
        Clause("a record that the same deletion deletes denies nothing") { bench in
            let store = try bench.contract()
            let hub = Hub()
            var item = Item()
            item.denyingHubID = hub.id
            item.cascadingHubID = hub.id
            try store.insertAll([hub, item])
            try expect(try store.delete(hub), "the hub was deleted")
            try expectEqual(try store.all(Item.self), [], "the items")
        },
        Clause("a required reference is not nullified; the deletion is refused") { bench in
            let store = try bench.contract()
            let hub = Hub()
            let badge = Badge(hubID: hub.id)
            try store.insertAll([hub, badge])
            try expectError(.deleteDenied, entity: "Badge", id: badge.id) { try store.delete(hub) }
            try expectEqual(try store.all(Hub.self), [hub], "the hubs")
            try store.delete(badge)
            try store.delete(hub)
            try expectEqual(try store.all(Hub.self), [], "the hubs")
        },
        Clause("deleting a linked record cascades, unlinks or ignores links") { bench in
            let store = try bench.contract()
            let (leaf, kept) = (Leaf(), Leaf())
            var bouquets = (0..<3).map { _ in Bouquet() }
            bouquets[0].cascadingLeafIDs = [leaf.id, kept.id]
            bouquets[1].nullifiedLeafIDs = [leaf.id, kept.id]
            bouquets[2].lingeringLeafIDs = [leaf.id, kept.id]
            try store.insertAll([leaf, kept] + bouquets)
            try store.delete(leaf)
            bouquets[1].nullifiedLeafIDs = [kept.id]
            let left = bouquets.dropFirst().sorted { $0.id.isBefore($1.id) }
            try expectEqual(try store.all(Bouquet.self), left, "the records that are left")
            try expectEqual(try store.all(Leaf.self), [kept], "the leaves")
        },
        Clause("a link can deny a deletion") { bench in
            let store = try bench.contract()
            let leaf = Leaf()
            var bouquet = Bouquet()
            bouquet.denyingLeafIDs = [leaf.id]
            try store.insertAll([leaf, bouquet])
            try expectError(.deleteDenied, entity: "Leaf", id: leaf.id) { try store.delete(leaf) }
            try store.delete(bouquet)
            try expect(try store.delete(leaf), "the leaf can be deleted once nothing links to it")
        },
        Clause("the habit schema keeps its rules: entries are deleted with their habit, tags are not") { bench in
            let store = try bench.habits()
            let tag = Tag(name: "t")
            let habit = Habit(name: "h", tagIDs: [tag.id])
            try store.insertAll([tag, habit] + (0..<5).map { Entry(note: "\($0)", habitID: habit.id) })
            try store.delete(tag)
            try expectEqual(try store.all(Habit.self).map(\.tagIDs), [[]], "the links of the habit")
            try store.delete(habit)
            try expectEqual(try store.all(Entry.self), [], "the entries")
        },
    ]

    static let forwardRuleClauses: [Clause] = [
        Clause("deleting a record can delete the records that it refers and links to") { bench in
            let store = try bench.contract()
            let leaves = (0..<5).map { _ in Leaf() }
            var wrapper = Wrapper()
            wrapper.cascadingLeafID = leaves[0].id
            wrapper.cascadingLinkIDs = [leaves[1].id, leaves[2].id]
            wrapper.nullifiedLeafID = leaves[3].id
            wrapper.lingeringLinkIDs = [leaves[4].id]
            try store.insertAll(leaves + [wrapper])
            try store.delete(wrapper)
            let left = leaves.suffix(2).sorted { $0.id.isBefore($1.id) }
            try expectEqual(try store.all(Leaf.self), left, "the leaves that are left")
            try expectEqual(try store.all(Wrapper.self), [], "the wrappers")
        },
        Clause("a record cannot be deleted while its rule denies it") { bench in
            let store = try bench.contract()
            let leaves = (0..<2).map { _ in Leaf() }
            var wrappers = (0..<2).map { _ in Wrapper() }
            wrappers[0].denyingLeafID = leaves[0].id
            wrappers[1].denyingLinkIDs = [leaves[1].id]
            try store.insertAll(leaves + wrappers)
            for wrapper in wrappers {
                try expectError(.deleteDenied, entity: "Wrapper", id: wrapper.id) { try store.delete(wrapper) }
            }
            // No rule is declared for the other direction, so the leaves can go, and then the wrappers can.
            for leaf in leaves { try store.delete(leaf) }
            for wrapper in wrappers { try store.delete(wrapper) }
            try expectEqual(try store.all(Wrapper.self), [], "the wrappers")
        },
        Clause("a cascade follows the rules of the records that it deletes") { bench in
            let store = try bench.contract()
            let leaf = Leaf()
            var wrapper = Wrapper()
            wrapper.cascadingLeafID = leaf.id
            var bouquet = Bouquet()
            bouquet.cascadingLeafIDs = [leaf.id]
            var other = Bouquet()
            other.nullifiedLeafIDs = [leaf.id]
            try store.insertAll([leaf, wrapper, bouquet, other])
            try store.delete(wrapper)
            other.nullifiedLeafIDs = []
            try expectEqual(try store.all(Leaf.self), [], "the leaves")
            try expectEqual(try store.all(Bouquet.self), [other], "the bouquets")
        },
    ]

    private static func deniesWhole(_ bench: ContractBench) throws {
        let store = try bench.contract()
        let hub = Hub()
        var items = (0..<4).map { _ in Item() }
        items[0].denyingHubID = hub.id
        items[1].cascadingHubID = hub.id
        items[2].nullifiedHubID = hub.id
        try store.insertAll([hub] + items)
        let before = try store.currentToken()
        try expectError(.deleteDenied, entity: "Hub", id: hub.id) { try store.delete(hub) }
        // Also if the transaction catches the refusal and continues.
        try store.write { transaction in
            try expectError(.deleteDenied, entity: "Hub", id: hub.id) { try transaction.delete(hub) }
        }
        try expectEqual(try store.all(Hub.self), [hub], "the hubs")
        try expectEqual(try store.all(Item.self), items.sorted { $0.id.isBefore($1.id) }, "the items")
        try expectEqual(try store.currentToken(), before, "the token")
        try store.delete(items[0])
        try expect(try store.delete(hub), "the hub can be deleted once nothing denies it")
        try expectEqual(try store.fetchCount(FetchDescriptor<Item>()), 2, "the number of items")
    }
}
