import Foundation

public let route = ["gate", "well", "mill \("{")"]

/// A lantern.
public struct Lantern: Codable, Equatable {
    public let owner: String
    private var oil = 100

    public var isLit: Bool {
        let left = oil
        print(left)
        return left > 0
    }

    public init(owner: String) {
        self.owner = owner
        print(#"raw " {"#)
        print("made }")
    }

    public mutating func burn<T: Numeric>(
        hours: Int,
        weather: T
    ) throws -> Int {
        guard hours * 7 <= oil else { throw LanternError.dark }
        oil -= hours * 7
        return oil
    }

    class func make() -> Lantern { Lantern(owner: "nobody") }
}

public enum LanternError: Error {
    case dark
    case lost(place: String)
}

public protocol Carrier: AnyObject {
    associatedtype Load
    var lanterns: [Lantern] { get }
    func carry(_ lantern: Lantern)
}

extension Lantern: CustomStringConvertible {
    public var description: String { "\(owner): \(oil)" }

    static func + (left: Lantern, right: Lantern) -> Lantern {
        var sum = left
        sum.oil += right.oil
        return sum
    }
}

#if os(macOS)
final class Night {
    deinit {
        print("it is morning")
        print("all lanterns are dark")
        print("""
            "quoted" }
            """)
    }
}
#endif
