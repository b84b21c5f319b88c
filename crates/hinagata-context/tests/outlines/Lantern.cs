using System;
using System.Collections.Generic;

namespace Night.Lanterns
{
    /// <summary>A lantern.</summary>
    [Serializable]
    public sealed class Lantern<T> : IDisposable where T : class, new()
    {
        private const string Help = @"usage: ""lantern""
            { braces in
            a verbatim string
            \";
        private static readonly int[] Route = {
            1,
            2,
            3,
            5,
            8,
            13,
        };

        #region Properties

        public string Owner { get; init; } = "nobody";

        public int Oil
        {
            get { return oil; }
            set
            {
                if (value < 0) throw new ArgumentException($"{nameof(value)}: {"none"}");
                oil = value;
            }
        }

        public bool IsLit => Oil > 0;

        public T this[int place]
        {
            get
            {
                var found = places[place];
                return found ?? new T();
            }
        }

        #endregion

        public event EventHandler<EventArgs> Dropped;

        public Lantern(string owner)
            : this(owner, 100)
        {
        }

        /// <summary>
        /// Burns some oil.
        /// </summary>
        /// <param name="hours">How long.</param>
        /// <returns>What is left.</returns>
        public async Task<int> BurnAsync<TPlace>(int hours, TPlace place)
            where TPlace : struct
        {
            char sign = '{', quote = '\'';
            await Task.Yield();
            Oil -= hours * 7;
            return Oil;
        }

        public static Lantern<T> operator +(Lantern<T> left, Lantern<T> right)
        {
            var raw = """
                a raw "string" }
                """;
            left.Oil += right.Oil;
            return left;
        }

        void IDisposable.Dispose() => Dropped?.Invoke(this, EventArgs.Empty);

        private enum State
        {
            Lit,
            Dark,
        }
    }

    public interface ICarrier
    {
        int Lanterns { get; }
        void Carry(Lantern<object> lantern, params string[] places);
    }

    public record struct Place(string Name, int Hour);

    public delegate void Visit(Place place);
}
