defmodule Mote.Bench.NorthwindTest do
  # The data of the Northwind programs, made up and read, and the cache misses that are told beside them.
  use ExUnit.Case, async: true

  alias Mote.Bench.{Options, Perf}
  alias Mote.Bench.Northwind.{Data, Generator, Json}
  alias Mote.Bench.Programs.{Northwind, NorthwindJoins}

  doctest Json

  describe "JSON" do
    test "values of every kind" do
      assert Json.read(" null ") == {:ok, nil}
      assert Json.read("[true,false]") == {:ok, [true, false]}
      assert Json.read("[]") == {:ok, []}
      assert Json.read("{ }") == {:ok, %{}}
      assert Json.read(~S([0,-0,-12,3.25,1e3,-2.5E-1])) == {:ok, [0, 0, -12, 3.25, 1000.0, -0.25]}
      assert Json.read(~S({"a":{"b":[{}]},"":"x"})) == {:ok, %{"a" => %{"b" => [%{}]}, "" => "x"}}
      assert Json.read(~S("\"\\\/\b\f\n\r\t")) == {:ok, "\"\\/\b\f\n\r\t"}
      assert Json.read(~S("é\u00e9\ud83d\ude00")) == {:ok, "éé😀"}
    end

    test "what is wrong, and where" do
      for {text, error} <- [
            {"", "expected a value at byte 1"},
            {"01", "expected the end at byte 2"},
            {"+1", "expected a value at byte 1"},
            {"1.", "expected the end at byte 2"},
            {"1e999", "a number out of range at byte 1"},
            {"nul", "expected a value at byte 1"},
            {"1 2", "expected the end at byte 3"},
            {"[1,]", "expected a value at byte 4"},
            {"[1 2]", "expected , or ] at byte 4"},
            {"{1:2}", "expected a key in quotes at byte 2"},
            {~S({"a" 1}), "expected : at byte 6"},
            {~S({"a":1,}), "expected a key in quotes at byte 8"},
            {~S({"a":1), "expected , or } at byte 7"},
            {~S({"a":1,"a":2}), ~S(the key "a" is there twice at byte 8)},
            {~S("abc), "expected the end of a string at byte 5"},
            {~S("\x"), "unknown escape at byte 3"},
            {~S("\u12g4"), "expected four hexadecimal digits at byte 3"},
            {~S("\ud83d"), "half a character at byte 3"},
            {~S("\ud83d\u0041"), "half a character at byte 3"},
            {"\"a\nb\"", "a string cannot have this byte at byte 3"},
            {<<?", 0xFF, ?">>, "a string cannot have this byte at byte 2"}
          ] do
        assert Json.read(text) == {:error, error}
      end
    end
  end

  describe "data that are made up" do
    test "have the size of Northwind, and are the same each time" do
      collections = Generator.collections()

      sizes = for {name, records} <- collections, into: %{}, do: {name, length(records)}
      assert sizes == %{customers: 29, orders: 48, order_details: 58, products: 45}
      assert Generator.collections() == collections
    end

    test "are whole: every order has a customer and lines, every line a product" do
      data = Data.load()

      for {id, order} <- data.orders do
        assert %{^id => [_ | _] = lines} = data.lines
        assert is_map_key(data.customers, order.customer_id)
        assert Enum.map(lines, & &1.line_seq) == Enum.to_list(0..(length(lines) - 1))
        for line <- lines, do: assert(is_map_key(data.products, line.product_id))
      end
    end

    test "are asked for 31 at once, every customer at least once" do
      keys = Northwind.keys(Data.load())
      assert length(keys) == 31
      assert keys |> Enum.uniq() |> Enum.sort() == Enum.to_list(1..29)
    end
  end

  describe "data of a directory" do
    @describetag :tmp_dir

    defp write(dir, changes \\ %{}) do
      files = %{
        "customers.nldjson" => ~S({"id":7,"company":"C"}) <> "\n\n" <> ~S({"id":9,"company":"D"}) <> "\n",
        "orders.ndjson" => ~S({"id":30,"customer_id":9}),
        "order_details.json" =>
          ~S({"order_id":30,"product_id":2,"quantity":1.0,"unit_price":2}) <>
            "\r\n" <> ~S({"order_id":30,"product_id":2,"quantity":2.5,"unit_price":2}),
        "products.nldjson" => ~S({"id":2,"list_price":1.5})
      }

      for {name, text} <- Map.merge(files, changes), do: File.write!(Path.join(dir, name), text)
      dir
    end

    test "are what the files say", %{tmp_dir: dir} do
      data = dir |> write() |> Data.read()
      assert data.customers == %{7 => %{:id => 7, "company" => "C"}, 9 => %{:id => 9, "company" => "D"}}
      assert data.orders == %{30 => %{id: 30, customer_id: 9}}
      assert [%{quantity: 1.0}, %{quantity: 2.5}] = data.lines[30]
      assert data.products == %{2 => %{id: 2, list_price: 1.5}}
    end

    test "that are wrong are errors with file and line", %{tmp_dir: dir} do
      for {name, text, error} <- [
            {"customers.nldjson", "{\"id\":1}\n[1]", ~r"/customers.nldjson:2: expected an object$"},
            {"customers.nldjson", "{\"id\":}", ~r"/customers.nldjson:1: expected a value at byte 7$"},
            {"customers.nldjson", "\n", ~r"/customers.nldjson has no records$"},
            {"products.nldjson", ~S({"list_price":1}), ~r"/products.nldjson:1: id cannot be nil$"},
            {"orders.ndjson", ~S({"id":30,"customer_id":8}),
             ~r"^orders refer to customer_id 8, which customers do"}
          ] do
        write(dir, %{name => text})
        assert_raise Data.Error, error, fn -> Data.read(dir) end
        write(dir)
      end

      File.rm!(Path.join(dir, "orders.ndjson"))
      assert_raise Data.Error, ~r"^cannot read .*/orders.nldjson: no such file", fn -> Data.read(dir) end
    end

    test "are what --data gives", %{tmp_dir: dir} do
      write(dir)
      assert {:ok, %Options{data: ^dir}} = Options.parse(["northwind", "--data", dir])
      assert {:error, "--data: cannot read /nowhere/" <> _} = Options.parse(~w(northwind --data /nowhere))
      assert {:error, "--data changes nothing for ring"} = Options.parse(["ring", "--data", dir])
    end
  end

  test "an order comes with its customer, its lines and their products" do
    machine = start_supervised!(Mote)
    data = Data.load()
    db = Northwind.db(machine, data, 2)
    {id, order} = Enum.find(data.orders, fn {id, _} -> length(data.lines[id]) > 1 end)
    lines = for line <- data.lines[id], do: {line, data.products[line.product_id]}

    for _ <- 1..3,
        do: assert(Mote.ask(db, {:order, id}) == {:ok, {order, data.customers[order.customer_id], lines}})

    assert Mote.ask(db, {:find, :products, 45}) == {:ok, data.products[45]}
    assert Mote.ask(db, {:find, :customers, 99}) == {:ok, :undefined}
    assert NorthwindJoins.count(3) == 144
  end

  describe "cache misses" do
    @describetag :tmp_dir

    # It is told by a signal to end, as perf.
    defp perf(dir, says) do
      file = Path.join(dir, "perf")
      File.write!(file, "#!/bin/sh\ntrap 'echo \"#{says}\"; exit 0' INT\nwhile true; do sleep 0.02; done\n")
      File.chmod!(file, 0o755)
      file
    end

    test "are what perf counted", %{tmp_dir: dir} do
      assert Perf.cache_misses(fn -> :ran end, perf(dir, "81245,,cache-misses,1,100.00,,")) ==
               {:ran, {:ok, 81_245}}
    end

    test "are not available where it cannot", %{tmp_dir: dir} do
      assert Perf.cache_misses(fn -> :ran end, perf(dir, "<not supported>,,cache-misses,0,100.00,,")) ==
               {:ran, {:unavailable, "perf says they are not supported"}}

      assert Perf.cache_misses(fn -> 1 end, perf(dir, "no permission")) ==
               {1, {:unavailable, ~S(perf says "no permission")}}

      assert Perf.cache_misses(fn -> 1 end, nil) == {1, {:unavailable, "perf is not installed"}}
    end
  end
end
