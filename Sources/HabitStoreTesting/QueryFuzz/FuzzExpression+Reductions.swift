import Foundation
import HabitStore

extension FuzzExpression {
    /// Smaller expressions of the same type, the smallest first.
    func reductions() -> [FuzzExpression] {
        let type = self.type
        var smaller = constants.filter { $0 != self && size > 1 }
        // Any descendant of the same type; the caller checks its variables.
        smaller += descendants.filter { $0.type == type && $0.size < size }.sorted { $0.size < $1.size }
        if case .operation(let operation, let operands, _) = self {
            smaller += Self.fewer(operation, operands)
        }
        if case .constant(let value, _) = self { smaller += Self.plainer(value).map { .constant($0, type) } }
        let children = self.children
        for (index, child) in children.enumerated() {
            for reduced in child.reductions() {
                var children = children
                children[index] = reduced
                let candidate = replacing(children)
                if candidate.keepsBounds { smaller.append(candidate) }
            }
        }
        return smaller
    }

    private var descendants: [FuzzExpression] { children.flatMap { [$0] + $0.descendants } }

    /// The simplest constants of the type.
    private var constants: [FuzzExpression] {
        if type.entity != nil { return type.isOptional ? [.constant(.null, type)] : [] }
        if type.isOptional { return [.constant(.null, type)] }
        switch type.scalar {
        case .bool: return [.yes, .no]
        case .int: return [.constant(.int(0), type), .constant(.int(1), type)]
        case .double: return [.constant(.double(0), type), .constant(.double(1), type)]
        case .string: return [.constant(.string(""), type), .constant(.string("a"), type)]
        case .strings: return [.constant(.strings([]), type)]
        default: return []
        }
    }

    /// Fewer terms of a conjunction or disjunction, or fewer constants of a list.
    private static func fewer(_ operation: FuzzOperation, _ operands: [FuzzExpression]) -> [FuzzExpression] {
        switch operation {
        case .and, .or:
            guard operands.count > 2 else { return [] }
            return operands.indices.map { index in
                var operands = operands
                operands.remove(at: index)
                return .operation(operation, operands, .bool)
            }
        case .isIn(let values, let isSet):
            return values.indices.map { index in
                var values = values
                values.remove(at: index)
                return .operation(.isIn(values, isSet: isSet), operands, .bool)
            }
        default: return []
        }
    }

    private static func plainer(_ value: Value) -> [Value] {
        switch value {
        case .string(let text) where text.unicodeScalars.count > 1:
            let scalars = Array(text.unicodeScalars)
            return scalars.indices.map { index in
                var view = String.UnicodeScalarView()
                view.append(contentsOf: scalars[..<index] + scalars[(index + 1)...])
                return .string(String(view))
            }
        case .strings(let texts) where !texts.isEmpty:
            return texts.indices.map { index in
                var texts = texts
                texts.remove(at: index)
                return .strings(texts)
            }
        case .int(let number) where number != 0 && number != 1: return [.int(0), .int(1)]
        case .double(let number) where number != 0 && number != 1: return [.double(0), .double(1)]
        default: return []
        }
    }

    /// Whether a captured range's bounds are still ordered constants.
    private var keepsBounds: Bool {
        guard case .operation(.inRange(_, isCaptured: true), let operands, let type) = self, type == .bool,
            case .constant(let lower, _) = operands[1], case .constant(let upper, _) = operands[2]
        else { return true }
        return FuzzOrder.isRange(lower, upper)
    }
}
