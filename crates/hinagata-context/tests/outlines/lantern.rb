# frozen_string_literal: true

require "json"

# Lanterns, and who carries them.
module Night
  ROUTE = %w[gate well mill].freeze
  PATTERN = /[\/"'{]+#{ROUTE.first}/x

  # A lantern.
  #
  # It burns until its oil is used up. Whoever carries it fills it again,
  # because a lantern that went out once is hard to find.
  class Lantern < Struct.new(:owner, :oil)
    include Comparable
    attr_reader :wick

    class << self
      def made = @made ||= 0

      def find(place)
        text = "#{place}: #{ROUTE.map { |name| "'#{name}'" }.join(", ")}"
        raise KeyError, text unless ROUTE.include?(place)
        new("nobody", 0)
      end
    end

    def initialize(owner, oil = 100)
      super
      @wick = 3 if oil > 0
      @text = <<~TEXT
        def not_a_method
          the end
        end
      TEXT
    end

    def lit?; oil > 0; end

    def burn(hours)
      self.oil -= hours * 7
      half = oil / 2
      half
    rescue ArgumentError => error
      warn error.message
    ensure
      self.oil = 0 if oil.negative?
    end

    def <=>(other)
      return nil unless other.is_a?(Lantern)
      sign = ?'
      [oil, sign] <=> [other.oil, sign]
    end

    private def drop(place)
      puts place % [1]
      self.oil = 0
      freeze
    end

    private

    def secret
      case oil
      when 0 then :dark
      else :lit
      end
    end
  end
end

=begin
def not_a_method_either
  nothing
end
=end

RSpec.describe Night::Lantern do
  let(:lantern) { described_class.new("Ada") }

  describe "#burn" do
    it "burns oil" do
      lantern.burn(1)
      expect(lantern.oil).to eq(93)
      expect(lantern).to be_lit
    end
  end
end
