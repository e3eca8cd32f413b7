defmodule Mote.Dashboard.JSONTest do
  use ExUnit.Case, async: true
  use ExUnitProperties

  alias Mote.Dashboard.JSON
  alias Mote.Peek

  defp encode(term), do: term |> JSON.encode() |> IO.iodata_to_binary()

  test "words, numbers and what holds them" do
    assert encode(%{:a => [1, -2.5, true, nil, :word], "b" => %{}, 3 => []}) ==
             ~S({"3":[],"a":[1,-2.5,true,null,"word"],"b":{}})

    assert encode(2 ** 200) == Integer.to_string(2 ** 200)
    # As short as they are exact, with a digit on both sides of the point.
    for {float, text} <- [{0.1, "0.1"}, {1.0e22, "1.0e22"}, {1.0e-7, "1.0e-7"}, {-0.0, "-0.0"}],
        do: assert(encode(float) == text)
  end

  test "texts" do
    assert encode(~s(a "quoted" \\ text\n\t\0)) == ~S("a \"quoted\" \\ text\n\u0009\u0000")
    assert encode("größer 🙂 </script>") == ~s("größer 🙂 </script>")
    assert encode(<<"a", 255, "b", 0xC3>>) == ~s("a\uFFFDb\uFFFD")
    # Half of a pair of UTF-16, which UTF-8 does not have.
    assert encode(<<0xED, 0xA0, 0x80>>) == ~s("\uFFFD\uFFFD\uFFFD")
    assert encode(<<1::3>>) == ~s|"<<1::size(3)>>"|
  end

  test "what JSON has no word for" do
    assert encode({:a, "b"}) == ~S("{:a, \"b\"}")
    assert encode([1 | 2]) == ~S("[1 | 2]")
    assert encode(self()) == ~s("#{inspect(self())}")
    assert encode(1..2) == ~S("1..2")
    assert encode(%{{1, 2} => 3}) == ~S({"{1, 2}":3})
    assert encode(a: 1) == ~S(["{:a, 1}"])
  end

  property "everything is JSON, and says the same where JSON can" do
    leaf = one_of([integer(), float(), boolean(), constant(nil), string(:printable)])

    tree = tree(leaf, &one_of([list_of(&1), map_of(string(:printable), &1)]))

    check all(term <- tree) do
      assert term |> encode() |> Peek.JSON.decode!() == term
    end

    check all(term <- term()) do
      assert Peek.JSON.decode!(encode(term)) != :nothing
    end
  end
end
