import CZlib
import Foundation

/// A model as an app declares it, written in Core Data's archive format.
struct FixtureModel: Sendable {
    struct Attribute: Sendable {
        var name: String
        var type: Int
        var isOptional = true
        var defaultValue: PlistValue?
        var elements: [Attribute] = []
        var isTransient = false
        var isExternal = false
    }

    struct Relationship: Sendable {
        var name: String
        var destination: String
        var inverse: String?
        var isToMany = false
        var isOrdered = false
    }

    struct Entity: Sendable {
        var name: String
        var parent: String?
        var isAbstract = false
        var attributes: [Attribute] = []
        var relationships: [Relationship] = []
        var unique: [[String]] = []
    }

    var entities: [Entity]
    /// Whether an entity's inherited properties are stand-ins (`_NSPropertyDescriptionProxy`) for its parent's.
    var usesProxies = false

    /// The keyed archive of the model.
    var archive: Data {
        var objects: [PlistValue] = [.string("$null"), .string("")]
        func add(_ value: PlistValue) -> PlistValue {
            objects.append(value)
            return .uid(objects.count - 1)
        }
        let known = Set(entities.map(\.name))
        var references: [String: PlistValue] = [:]
        for entity in entities { references[entity.name] = add(.string("later")) }
        var proxied: [String: PlistValue] = [:]
        for entity in entities {
            guard case .uid(let place)? = references[entity.name] else { continue }
            let properties = properties(of: entity, add)
            let names = properties.map { add(.string($0.0)) }
            let inherited = properties.count - entity.attributes.count - entity.relationships.count
            let bodies = properties.enumerated().map { number, property in
                if usesProxies, number < inherited, let original = proxied["\(entity.parent ?? "").\(property.0)"] {
                    proxied["\(entity.name).\(property.0)"] = original
                    return add(
                        .dictionary([
                            ("NSUnderlyingProperty", original), ("NSEntityDescription", .uid(place)),
                            ("NSReferenceID", .int(number)),
                        ])
                    )
                }
                let made = add(property.1)
                proxied["\(entity.name).\(property.0)"] = made
                return made
            }
            let list = add(.dictionary([("NS.keys", .array(names)), ("NS.objects", .array(bodies))]))
            let tuples = entity.unique.map { tuple in
                add(.dictionary([("NS.objects", .array(tuple.map { add(.string($0)) }))]))
            }
            objects[place] = .dictionary([
                ("NSEntityName", add(.string(entity.name))),
                ("NSClassNameForEntity", add(.string("Managed\(entity.name)"))),
                ("NSSuperentity", entity.parent.flatMap { known.contains($0) ? references[$0] : nil } ?? .uid(0)),
                ("NSIsAbstract", .bool(entity.isAbstract)),
                ("NSProperties", list),
                ("NSUniqueTuples", add(.dictionary([("NS.objects", .array(tuples))]))),
            ])
        }
        let members = add(.dictionary([("NS.objects", .array(entities.compactMap { references[$0.name] }))]))
        objects[1] = .dictionary([("NSEntities", add(.dictionary([("values", members)])))])
        return PlistValue.dictionary([
            ("$version", .int(100_000)), ("$archiver", .string("NSKeyedArchiver")),
            ("$top", .dictionary([("root", .uid(1))])), ("$objects", .array(objects)),
        ]).bytes
    }

    /// Core Data repeats inherited properties in each entity.
    private func properties(
        of entity: Entity,
        _ add: (PlistValue) -> PlistValue
    ) -> [(String, PlistValue)] {
        let inherited = entities.first { $0.name == entity.parent }.map { properties(of: $0, add) } ?? []
        return inherited + entity.attributes.map { ($0.name, archived($0, add)) }
            + entity.relationships.map { relationship in
                (
                    relationship.name,
                    .dictionary([
                        ("NSPropertyName", add(.string(relationship.name))),
                        ("_NSDestinationEntityName", add(.string(relationship.destination))),
                        ("_NSInverseRelationshipName", relationship.inverse.map { add(.string($0)) } ?? .uid(0)),
                        ("NSMaxCount", .int(relationship.isToMany ? 0 : 1)), ("NSMinCount", .int(0)),
                        ("NSIsOptional", .bool(true)), ("NSDeleteRule", .int(1)),
                        ("NSIsOrdered", .bool(relationship.isOrdered)),
                    ])
                )
            }
    }

    private func archived(_ attribute: Attribute, _ add: (PlistValue) -> PlistValue) -> PlistValue {
        var pairs: [(String, PlistValue)] = [
            ("NSPropertyName", add(.string(attribute.name))), ("NSAttributeType", .int(attribute.type)),
            ("NSDefaultValue", attribute.defaultValue.map(add) ?? .uid(0)),
        ]
        if attribute.isOptional { pairs.append(("NSIsOptional", .bool(true))) }
        if attribute.isExternal { pairs.append(("NSFlagsKey", .int(4))) }
        if attribute.isTransient { pairs.append(("NSIsTransient", .bool(true))) }
        if !attribute.elements.isEmpty {
            let members = attribute.elements.map { add(archived($0, add)) }
            pairs.append(("NSElements", add(.dictionary([("NS.objects", .array(members))]))))
        }
        return .dictionary(pairs)
    }

    /// The archive as stored in the file: raw DEFLATE.
    var cache: Data { Self.deflated(archive) }

    static func deflated(_ data: Data) -> Data {
        var stream = z_stream()
        guard czlib_deflate_init(&stream, -15) == Z_OK else { return Data() }
        defer { deflateEnd(&stream) }
        var input = [UInt8](data)
        var output = [UInt8](repeating: 0, count: data.count + 1_024)
        let room = output.count
        return input.withUnsafeMutableBufferPointer { source in
            output.withUnsafeMutableBufferPointer { target in
                stream.next_in = source.baseAddress
                stream.avail_in = UInt32(source.count)
                stream.next_out = target.baseAddress
                stream.avail_out = UInt32(target.count)
                guard deflate(&stream, Z_FINISH) == Z_STREAM_END else { return Data() }
                return Data(target[..<(room - Int(stream.avail_out))])
            }
        }
    }
}
