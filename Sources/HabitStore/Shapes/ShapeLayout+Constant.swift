import Foundation

extension ShapeLayout {
    /// A captured constant.
    struct Constant: Sendable {
        /// The type of a constant that is lowered to a literal, whatever its value.
        enum Kind: Sendable {
            case uuid
            case optionalUUID
            case int
            case optionalInt
            case double
            case optionalDouble
            case date
            case optionalDate
            case string
            case optionalString

            init?(_ type: Any.Type) {
                switch ObjectIdentifier(type) {
                case ObjectIdentifier(UUID.self): self = .uuid
                case ObjectIdentifier(UUID?.self): self = .optionalUUID
                case ObjectIdentifier(Int.self): self = .int
                case ObjectIdentifier(Int?.self): self = .optionalInt
                case ObjectIdentifier(Double.self): self = .double
                case ObjectIdentifier(Double?.self): self = .optionalDouble
                case ObjectIdentifier(Date.self): self = .date
                case ObjectIdentifier(Date?.self): self = .optionalDate
                case ObjectIdentifier(String.self): self = .string
                case ObjectIdentifier(String?.self): self = .optionalString
                default: return nil
                }
            }

            /// The value that a constant is lowered to; nil for those that are lowered in another way: nil, numbers that no
            /// store keeps, and texts in another form than the stored ones.
            func load(_ pointer: UnsafeRawPointer) -> Value? {
                switch self {
                case .uuid: return .uuid(pointer.loadUnaligned(as: UUID.self))
                case .optionalUUID: return pointer.loadUnaligned(as: UUID?.self).map { .uuid($0) }
                case .int: return .int(Int64(pointer.loadUnaligned(as: Int.self)))
                case .optionalInt: return pointer.loadUnaligned(as: Int?.self).map { .int(Int64($0)) }
                case .double: return Self.value(pointer.loadUnaligned(as: Double.self))
                case .optionalDouble: return pointer.loadUnaligned(as: Double?.self).flatMap(Self.value)
                case .date: return Self.value(pointer.loadUnaligned(as: Date.self))
                case .optionalDate: return pointer.loadUnaligned(as: Date?.self).flatMap(Self.value)
                case .string: return Self.value(pointer.assumingMemoryBound(to: String.self).pointee)
                case .optionalString:
                    return pointer.assumingMemoryBound(to: String?.self).pointee.flatMap(Self.value)
                }
            }

            private static func value(_ date: Date) -> Value? { (try? date.storable()).map { .date($0) } }

            private static func value(_ number: Double) -> Value? {
                number.isFinite && (number != 0 || number.sign == .plus) ? .double(number) : nil
            }

            private static func value(_ text: String) -> Value? { text.isInNFC ? .string(text) : nil }

            /// Replaces a constant.
            func store(_ number: Int, at pointer: UnsafeMutableRawPointer) {
                switch self {
                case .uuid: pointer.storeBytes(of: Self.identifier(number), as: UUID.self)
                case .optionalUUID: pointer.storeBytes(of: Self.identifier(number), as: UUID?.self)
                case .int: pointer.storeBytes(of: number, as: Int.self)
                case .optionalInt: pointer.storeBytes(of: number, as: Int?.self)
                case .double: pointer.storeBytes(of: Double(number), as: Double.self)
                case .optionalDouble: pointer.storeBytes(of: Double(number), as: Double?.self)
                case .date: pointer.storeBytes(of: Self.date(number), as: Date.self)
                case .optionalDate: pointer.storeBytes(of: Self.date(number), as: Date?.self)
                case .string: pointer.assumingMemoryBound(to: String.self).pointee = Self.text(number)
                case .optionalString: pointer.assumingMemoryBound(to: String?.self).pointee = Self.text(number)
                }
            }

            private static func text(_ number: Int) -> String { number == 0 ? "" : "constant \(number)" }

            private static func identifier(_ number: Int) -> UUID {
                var bytes = uuid_t(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
                withUnsafeMutableBytes(of: &bytes) { $0.storeBytes(of: number, toByteOffset: 8, as: Int.self) }
                return UUID(uuid: bytes)
            }

            private static func date(_ number: Int) -> Date { Date(timeIntervalSinceReferenceDate: Double(number)) }
        }

        let kind: Kind
        let place: Int
    }
}
